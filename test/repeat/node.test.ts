import { repeatFewTimes } from './small.ts';

repeatFewTimes('node');
