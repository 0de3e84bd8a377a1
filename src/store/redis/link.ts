/**
 * The connection: every call has a deadline and a bounded number of tries. A step may be sent again after its reply was
 * lost, because it applies once; what cannot be answered in time is `StoreUnavailable`.
 */
import type { Clock } from '../../clock.ts';
import { limits } from '../../limits.ts';
import { StoreUnavailable } from '../../store.ts';
import { connectCluster, connectSingle, isCluster } from './connection.ts';
import type { Connection } from './connection.ts';
import type { Argument, Reply } from './reply.ts';
import type { ScriptName, Scripts } from './scripts.ts';

/** Replies that another try may better: the server is starting, moving or being replaced. */
const passing = /^(?:LOADING|READONLY|CLUSTERDOWN|TRYAGAIN|MASTERDOWN|MOVED|ASK)\b/;

/** Pauses before a further try, in milliseconds. */
const pauses = [20, 60, 200, 400] as const;

export class Link {
  readonly #clock: Clock;
  readonly #scripts: Scripts;
  readonly #connection: Connection;
  #pending = 0;

  constructor(url: string, clock: Clock, scripts: Scripts) {
    this.#clock = clock;
    this.#scripts = scripts;
    this.#connection = isCluster(url) ? connectCluster(url) : connectSingle(url);
  }

  async open(): Promise<void> {
    await this.#within(() => this.#connection.open(), []);
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  /** Runs a step in the slot of this root. */
  run(name: ScriptName, root: string, ...given: Argument[]): Promise<Reply> {
    return this.#within(() => this.#evaluate(name, root, plain(given)), pauses);
  }

  /** As `run`, and a replica has it before the answer counts. */
  async runReplicated(name: ScriptName, root: string, ...given: Argument[]): Promise<Reply> {
    return this.#within(async () => {
      const connection = this.#connection.replicating;
      const answer = await this.#evaluate(name, root, plain(given), connection);
      const replicas = (await connection.send(root, ['WAIT', '1', String(limits.redisReplicaMs)])) as number;
      if (replicas < 1) throw new StoreUnavailable('No replica of Redis has confirmed the step.');
      return answer;
    }, pauses);
  }

  /** A single command, by its key's slot. */
  send(key: string, ...given: Argument[]): Promise<Reply> {
    return this.#within(() => this.#connection.send(key, plain(given)), pauses);
  }

  /** Hears what is published on a channel; `again` is called when something may have been missed. */
  subscribe(channel: string, heard: (text: string) => void, again: () => void): Promise<() => Promise<void>> {
    return this.#within(() => this.#connection.subscribe(channel, heard, again), []);
  }

  #evaluate(name: ScriptName, root: string, given: (string | Buffer)[], connection: Pick<Connection, 'send'> = this.#connection): Promise<Reply> {
    const { source, digest } = this.#scripts[name];
    return connection.send(root, ['EVALSHA', digest, '1', root, ...given]).catch((error: Error) => {
      if (!error.message.startsWith('NOSCRIPT')) throw error;
      return connection.send(root, ['EVAL', source, '1', root, ...given]);
    });
  }

  #within<T>(attempt: () => Promise<T>, waits: readonly number[]): Promise<T> {
    // A call that was given up still holds its place until its connection answers or is closed: this bounds the memory.
    if (this.#pending >= limits.redisCallsMax) return Promise.reject(new StoreUnavailable('Too many calls wait for Redis.'));
    return new Promise((resolve, reject) => {
      let over = false;
      const end = (settle: () => void): void => {
        over = true;
        deadline.cancel();
        settle();
      };
      const deadline = this.#clock.after(limits.redisCallMs, () => end(() => reject(timedOut(this.#connection.trouble))));
      let tries = 0;
      const begin = (): void => {
        if (over) return;
        this.#pending++;
        attempt().then(
          (answer) => {
            this.#pending--;
            if (!over) end(() => resolve(answer));
          },
          (error: Error) => {
            this.#pending--;
            if (over) return;
            const pause = waits[tries++];
            if (pause !== undefined && mayPass(error)) this.#clock.after(pause, begin);
            else end(() => reject(unavailable(error)));
          },
        );
      };
      begin();
    });
  }
}

const timedOut = (trouble: string | null): StoreUnavailable => new StoreUnavailable(`Redis did not answer in time${trouble === null ? '' : ` (${trouble})`}.`);

const plain = (given: readonly Argument[]): (string | Buffer)[] =>
  given.map((each) => (typeof each === 'number' ? String(each) : typeof each === 'string' ? each : asBuffer(each)));

const asBuffer = (bytes: Uint8Array): Buffer => (Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));

/** Redis's own errors begin with a word in capitals; whatever else went wrong, went wrong on the way. */
const mayPass = (error: Error): boolean =>
  !(error instanceof StoreUnavailable) && (passing.test(error.message) || !/^[A-Z]{3,} /.test(error.message));

const unavailable = (error: Error): StoreUnavailable =>
  error instanceof StoreUnavailable ? error : new StoreUnavailable(`Redis could not answer: ${error.message}`, { cause: error });
