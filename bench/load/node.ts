/** The load in Node, in this process: where there is no compiler. Its CPU time is this process's. */
import type { Load } from '../load.ts';
import { NodeStreams } from './streams.ts';
import { arrive, converse, repeat } from './turns.ts';

export const nodeLoad: Load = {
  converse,
  arrive,
  repeat,
  stream: (instance, requests, shape, abreast) => new NodeStreams(instance, requests, shape, abreast),
  microseconds: () => 0,
};
