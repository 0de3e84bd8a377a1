/** How the feed of live actors is written. */
import type { Awake } from '../../host/feed.ts';
import type { Inspected } from '../../actors/inspector.ts';

/** How the feed is written: each call returns the messages to send. */
export interface FeedFormat {
  actors(actors: readonly Awake[], at: number): object[];
  inspected(inspected: Inspected): object[];
  dropped(count: number): object[];
}
