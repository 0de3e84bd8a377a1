/** All that happened in a run, for the checker; and a digest of it, by which two runs are the same run. */
import { createHash } from 'node:crypto';
import type { ResponseHeaders } from '../../src/base/edge.ts';
import type { ModelMessage } from '../../src/providers/model.ts';
import type { Scheduler } from './scheduler.ts';

/** A step as the store took it: `nowMs` is the time that it went by. */
export interface StepEntry {
  readonly type: 'step';
  readonly host: string;
  readonly verb: string;
  readonly args: readonly any[];
  readonly answer: any;
  readonly atMs: number;
  /** The simulated time at which it was answered. */
  readonly nowMs: number;
}

export type Entry =
  | StepEntry
  /** The store's state here can be come back to. */
  | { readonly type: 'snapshot'; readonly id: number }
  /** The store is as it was at that snapshot. */
  | { readonly type: 'failover'; readonly to: number }
  /** A bucket of the budgets as handed to the disk, and whether it got there: a later process begins with it. */
  | {
      readonly type: 'bucket';
      readonly key: string;
      readonly bucket: { level: number; at: number };
      readonly committed: boolean;
    }
  /** A process has opened an embedded store; the process that had it before is dead. */
  | { readonly type: 'opened' };

export interface StreamEvent {
  readonly event: string;
  readonly id: number;
  readonly data: any;
  readonly atMs: number;
}

export interface Stream {
  readonly turnId: string;
  /** Null: from the beginning. */
  readonly cursor: number | null;
  readonly events: StreamEvent[];
  /** `ended` by the server, `cut` by the network or a crash, `left` by the client. */
  over: 'ended' | 'cut' | 'left' | null;
}

/** A request as its client knows it. */
export interface Asked {
  readonly client: string;
  readonly host: string;
  readonly keyId: string | null;
  readonly method: string;
  readonly path: string;
  readonly body: any;
  readonly idempotencyKey: string | null;
  readonly sentMs: number;
  answeredMs: number | null;
  status: number | null;
  headers: ResponseHeaders;
  json: any;
  stream: Stream | null;
  /** Marks the end of the entries. */
  over: boolean;
  /** A process has taken it. */
  arrived: boolean;
}

/** The name of a turn by its chat: its message, or the calls that it answers. */
export const promptOf = ({
  message,
  tool_results: answers,
}: {
  message?: string;
  tool_results?: readonly { call_id: string }[];
}): string => message ?? answeringOf((answers ?? []).map(({ call_id: id }) => id));

export const answeringOf = (callIds: readonly string[]): string => `answers ${[...callIds].sort().join(' ')}`;

/** A call of the model with all that it was sent, and the text that it would have given. */
export interface Said {
  readonly host: string;
  readonly messages: readonly ModelMessage[];
  readonly text: string;
  /** Absent for a simulated speaker, which asks without an assistant. */
  readonly systemPrompt?: string | null;
  /** The names of the functions that it was offered; absent without functions. */
  readonly functions?: readonly string[] | undefined;
}

/** A call of a tool that reached it. */
export interface Reached {
  readonly host: string;
  readonly callId: string;
  readonly turnId: string;
  readonly name: string;
  /** Number of entries in the history at that time. */
  readonly after: number;
  readonly atMs: number;
}

/** A request that has reached the receiver of webhooks. */
export interface ReceivedEvent {
  readonly host: string;
  /** The delivery's id. */
  readonly id: string;
  readonly body: string;
  readonly isSigned: boolean;
  /** Whether its answer was 2xx. */
  readonly isAccepted: boolean;
}

export class History {
  readonly entries: Entry[] = [];
  readonly asked: Asked[] = [];
  readonly said: Said[] = [];
  readonly reached: Reached[] = [];
  readonly received: ReceivedEvent[] = [];
  /** Deliveries that had a failed attempt. */
  readonly refused = new Set<string>();
  /** Errors that the hosts logged. */
  readonly logged: string[] = [];
  /** When a host was killed, or ended. */
  readonly deaths: { readonly host: string; readonly atMs: number }[] = [];
  /** Violations found during the run. */
  readonly wrong: string[] = [];
  readonly #scheduler: Scheduler;
  readonly #hash = createHash('sha256');
  readonly #notify: ((line: string) => void) | null;

  /** Constructs a history. `notify` receives each line as it is written. */
  constructor(scheduler: Scheduler, notify: ((line: string) => void) | null) {
    this.#scheduler = scheduler;
    this.#notify = notify;
  }

  note(line: string): void {
    const timed = `${String(this.#scheduler.now).padStart(7)} ${line}`;
    this.#hash.update(timed);
    this.#notify?.(timed);
  }

  reach(reached: Pick<Reached, 'host' | 'callId' | 'turnId' | 'name'>): void {
    const { host, callId, turnId, name } = reached;
    this.reached.push({ ...reached, after: this.entries.length, atMs: this.#scheduler.now });
    this.note(`${host} calls ${name}: ${callId} of ${turnId}`);
  }

  receive(event: ReceivedEvent): void {
    this.received.push(event);
    this.note(`${event.host} delivers ${event.id}${event.isAccepted ? '' : ', refused'}: ${brief(event.body)}`);
  }

  died(host: string): void {
    this.deaths.push({ host, atMs: this.#scheduler.now });
  }

  step(host: string, verb: string, args: readonly any[], answer: any, atMs: number): void {
    this.entries.push({ type: 'step', host, verb, args, answer, atMs, nowMs: this.#scheduler.now });
    this.note(`${host} ${verb} ${brief(args)} → ${brief(answer)}`);
  }

  digest(): string {
    return this.#hash.copy().digest('hex');
  }
}

/** Length that is short enough to read and long enough to identify a run. */
function brief(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length <= 160
    ? text
    : `${text.slice(0, 140)}… ${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
}
