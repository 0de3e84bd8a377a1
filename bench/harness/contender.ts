/** A contender: a server that is measured, how it is started, and how it is talked to. */
import type { Format } from '../load/stream.ts';
import type { Load } from '../load.ts';
import type { Shape } from '../text.ts';
import type { Process } from './process.ts';
import type { Size } from './question.ts';

/** A contender that runs. */
export interface Instance {
  /** The processes whose CPU time and memory are the server's. */
  readonly processes: readonly Process[];
  /** Processes that it needs beside them, on the core of the load: a database. */
  readonly beside?: readonly Process[];
  readonly ports: readonly number[];
  readonly format: Format;
  /**
   * The bytes of one request each for so many conversations that are answered with such a stream. The same bytes again
   * are the next turn.
   */
  conversations(shape: Shape, count: number): Promise<string[]>;
  stop(): Promise<void>;
}

export interface Surroundings {
  /** The provider's port. */
  readonly upstream: number;
  readonly size: Size;
  /** The folder where each server of parley's leaves a CPU profile of its life, or null. */
  readonly profile: string | null;
  readonly load: Load;
  /** CPU time so far of this process, the load and the provider, in microseconds. */
  loadMicroseconds(): number;
}

export interface Contender {
  readonly name: string;
  /** Differences to parley: work that it leaves out or does in addition. */
  readonly note: string;
  /** Whether it takes part always, only in full runs, or only when peers are asked for. */
  readonly standing: 'always' | 'full' | 'peer';
  /** Returns the reason why it cannot take part here, or null. */
  absent?(): string | null;
  start(surroundings: Surroundings): Promise<Instance>;
}

/** A request in HTTP/1.1 with a JSON body. */
export function post(path: string, body: object, headers: Readonly<Record<string, string>> = {}): string {
  const json = JSON.stringify(body);
  const lines = Object.entries({
    host: '127.0.0.1',
    'content-type': 'application/json',
    ...headers,
    'content-length': String(Buffer.byteLength(json)),
  });
  return `POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${json}`;
}

/** The user's message in every turn. */
export const message = 'How much is it, and when can I have it?';
