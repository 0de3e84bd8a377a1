/** How the feed of live actors is written. */
import type { Inspected } from '../host/inspector.ts';
import type { Host } from '../host.ts';

type Awake = ReturnType<Host['awake']>;

/** How the feed is written: each call returns the messages to send. */
export interface FeedFormat {
  actors(actors: Awake, at: number): object[];
  inspected(inspected: Inspected): object[];
  dropped(count: number): object[];
}
