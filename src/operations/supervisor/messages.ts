/** The messages between a supervisor and its workers. */
import type { Samples } from '../../metrics/metrics.ts';

export type FromWorker =
  /** The worker is ready to listen and requests the port; `again` if the port that it got was in use. */
  | { readonly type: 'port.wanted'; readonly again: boolean }
  | { readonly type: 'listening' }
  /** A scrape of the worker's `/metrics` needs the metrics of all workers. */
  | { readonly type: 'metrics.wanted'; readonly request: number }
  /** Whether the worker accepts work and its store answers; the answer to the supervisor's request of that number. */
  | { readonly type: 'readiness'; readonly request: number; readonly ready: boolean }
  /**
   * The worker's own metrics, for the supervisor's request of that number; null when the worker sends them at its end.
   */
  | { readonly type: 'measured'; readonly request: number | null; readonly samples: Samples };

export type FromSupervisor =
  | { readonly type: 'port'; readonly port: number }
  /** Drain and end, as after SIGTERM. */
  | { readonly type: 'drain' }
  /** Accept no new connections, and drain once open connections had time to move to other workers. */
  | { readonly type: 'retire' }
  | { readonly type: 'query-readiness'; readonly request: number }
  | { readonly type: 'measure'; readonly request: number }
  | { readonly type: 'metrics'; readonly request: number; readonly text: string };
