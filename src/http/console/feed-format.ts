/** The formats of the feed of live actors. */
import type { Awake } from '../../host/feed.ts';
import type { Inspected } from '../../actors/inspector.ts';

/** A format of the feed: each method returns the messages to send. */
export interface FeedFormat {
  actors(actors: readonly Awake[], at: number): object[];
  inspected(inspected: Inspected): object[];
  dropped(count: number): object[];
}
