import { repeatFewTimes } from './small.ts';

repeatFewTimes('uws');
