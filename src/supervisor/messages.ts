/** What a supervisor and its workers say to each other. */
import type { Samples } from '../metrics.ts';

export type FromWorker =
  /** It is ready to listen and wants to know where; `again` after the port that it was told proved taken. */
  | { readonly type: 'port.wanted'; readonly again: boolean }
  | { readonly type: 'listening' }
  /** Somebody asked it for the metrics of all. */
  | { readonly type: 'metrics.wanted'; readonly request: number }
  /** Its own, for the supervisor's request of that number; null when it ends and leaves them behind. */
  | { readonly type: 'measured'; readonly request: number | null; readonly samples: Samples };

export type FromSupervisor =
  | { readonly type: 'port'; readonly port: number }
  /** Drain and end, as after SIGTERM. */
  | { readonly type: 'drain' }
  /** Let nobody new in, and drain once those who are connected had time to move on. */
  | { readonly type: 'retire' }
  | { readonly type: 'measure'; readonly request: number }
  | { readonly type: 'metrics'; readonly request: number; readonly text: string };
