/**
 * The link to Redis: every call has a deadline and a bounded number of tries. A step may be sent again after its reply
 * was lost, because it applies once; a call without an answer in time rejects with `StoreUnavailable`.
 */
import type { Clock } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import { StoreUnavailable } from '../store.ts';
import { packer } from '../packer.ts';
import { connect, type RedisConnection } from './connection.ts';
import { isDemoted } from './connection/client.ts';
import { CallBatching } from './call-batching.ts';
import type { Argument, RedisReply } from './reply.ts';
import type { Scripts } from './scripts.ts';
import type { SendCommand } from './server-config.ts';
import { argumentsOf, gatheredSteps, steps, type Answer, type Given, type ScriptName } from './steps.ts';

/** Milliseconds for a primary to describe itself. */
const redisAskMs = 900;
/** Characters of several calls that are sent as one; a longer call is sent by itself. */
export const redisGatheredCharactersMax = 65_536;

/**
 * The guarantee of an answer. `committed`: the primary has the write. `replicated`: a replica has every write that a
 * caller relies on once it is answered. `replicated-output`: a replica also has each piece of output before a reader
 * sees it.
 */
export type Durability = 'committed' | 'replicated' | 'replicated-output';

/** Errors that a retry may pass, including the errors of a replaced server: the cluster or the slot is changing. */
const passing = /^(?:CLUSTERDOWN|TRYAGAIN|MOVED|ASK)\b/;

/** The pauses before retries, in milliseconds. */
const pauses = [20, 60, 200, 400] as const;

export class RedisLink {
  readonly #clock: Clock;
  readonly #scripts: Scripts;
  readonly #connection: RedisConnection;
  readonly #durability: Durability;
  /** Digests of the scripts that Redis has run for this link. */
  readonly #loaded = new Set<string>();
  #pending = 0;
  /** Senders by the step's name and the need for a replica's confirmation. */
  readonly #batches = new Map<string, CallBatching<readonly Argument[], RedisReply>>();

  constructor(url: string, clock: Clock, scripts: Scripts, durability: Durability = 'committed') {
    this.#clock = clock;
    this.#scripts = scripts;
    this.#durability = durability;
    this.#connection = connect(url, clock);
  }

  async open(): Promise<void> {
    await this.#within(() => this.#connection.open(), []);
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  /** Runs a step in this root's slot. `weight`: as how many calls it counts. */
  run<S extends ScriptName>(name: S, root: string, given: Given<S>, weight = 1): Promise<Answer<S>> {
    return this.#run(false, name, root, given, weight);
  }

  /**
   * Works like `run`, for writes that a caller relies on once they are answered: under `replicated` the answer waits
   * for a replica.
   */
  runDurable<S extends ScriptName>(name: S, root: string, given: Given<S>): Promise<Answer<S>> {
    return this.#run(this.#durability !== 'committed', name, root, given);
  }

  /** Works like `run`, for pieces of output: under `replicated-output` the answer waits for a replica. */
  runOutput<S extends ScriptName>(name: S, root: string, given: Given<S>): Promise<Answer<S>> {
    return this.#run(this.#durability === 'replicated-output', name, root, given);
  }

  /** Resolves once a replica has everything read from this root's slot so far, if `runDurable` waits for a replica. */
  async confirmDurable(root: string): Promise<void> {
    if (this.#durability !== 'committed') await this.#confirm(root);
  }

  /** The same, if `runOutput` waits for a replica. */
  async confirmOutput(root: string): Promise<void> {
    if (this.#durability === 'replicated-output') await this.#confirm(root);
  }

  /**
   * A confirmed write covers earlier reads: the primary replicates everything that it has answered before it replicates
   * this write.
   */
  #confirm(root: string): Promise<RedisReply> {
    return this.#within(() => this.#sendOne(true, root, ['EXISTS', root]), pauses);
  }

  /** Sends a single command to its key's slot. */
  send(key: string, ...given: Argument[]): Promise<RedisReply> {
    return this.#within(() => this.#sendOne(false, key, plain(given)), pauses);
  }

  /** Works like `send`, with the promise of `runDurable`. */
  sendDurable(key: string, ...given: Argument[]): Promise<RedisReply> {
    return this.#within(() => this.#sendOne(this.#durability !== 'committed', key, plain(given)), pauses);
  }

  /**
   * Returns a function for each primary that is known now, to ask it about itself. The time limit is shorter than for
   * other commands.
   */
  primaries(): readonly SendCommand[] {
    return this.#connection.primaries().map(
      (send) =>
        (...words) =>
          this.#within(() => send(words), [], 1, redisAskMs),
    );
  }

  /** Subscribes to a channel; `again` is called when messages may have been lost. */
  subscribe(channel: string, heard: (text: string) => void, again: () => void): Promise<() => Promise<void>> {
    return this.#within(() => this.#connection.subscribe(channel, heard, again), []);
  }

  #run<S extends ScriptName>(
    confirmed: boolean,
    name: S,
    root: string,
    given: Given<S>,
    weight = 1,
  ): Promise<Answer<S>> {
    const values = argumentsOf(name, given);
    const answer = gatheredSteps.has(name)
      ? this.#batchOf(confirmed, name).add(root, values)
      : this.#call(confirmed, name, root, plain(values), weight);
    return answer as Promise<Answer<S>>;
  }

  /** The calls of a step that go together. */
  #batchOf(confirmed: boolean, name: ScriptName): CallBatching<readonly Argument[], RedisReply> {
    const kind = confirmed ? `${name} confirmed` : name;
    let batching = this.#batches.get(kind);
    if (batching === undefined) {
      const send = (root: string, calls: readonly (readonly Argument[])[]) =>
        this.#call(confirmed, name, root, [packer.packTexts(calls)], calls.length) as Promise<RedisReply[]>;
      this.#batches.set(kind, (batching = new CallBatching(send, { ...bounds, sizeOf: sizeOf(name) })));
    }
    return batching;
  }

  #call(
    confirmed: boolean,
    name: ScriptName,
    root: string,
    values: readonly (string | Buffer)[],
    weight: number,
  ): Promise<RedisReply> {
    const { source, digest } = this.#scripts[name];
    const send = (command: string, script: string): Promise<RedisReply> =>
      this.#sendOne(confirmed, root, [command, script, '1', root, ...values]);
    const load = async (): Promise<RedisReply> => {
      const reply = await send('EVAL', source);
      this.#loaded.add(digest);
      return reply;
    };
    // An unknown digest costs a round trip, and under `replicated` the wait for a replica as well, so the first call
    // sends the source.
    const attempt = (): Promise<RedisReply> =>
      !this.#loaded.has(digest)
        ? load()
        : send('EVALSHA', digest).catch((error: Error) => {
            if (!error.message.startsWith('NOSCRIPT')) throw error;
            return load();
          });
    return this.#within(attempt, pauses, weight);
  }

  #sendOne(confirmed: boolean, key: string, args: (string | Buffer)[]): Promise<RedisReply> {
    return confirmed ? this.#connection.sendConfirmed(key, args) : this.#connection.send(key, args);
  }

  /** `weight`: as how many calls it counts. */
  #within<T>(
    attempt: () => Promise<T>,
    waits: readonly number[],
    weight = 1,
    ms: number = limits.redisCallMs,
  ): Promise<T> {
    // A call that was given up still counts until its connection answers or is closed: this bounds the memory.
    if (this.#pending >= limits.redisCallsMax)
      return Promise.reject(new StoreUnavailable('Too many commands wait for Redis.'));
    return new Promise((resolve, reject) => {
      let over = false;
      const end = (settle: () => void): void => {
        over = true;
        deadline.cancel();
        settle();
      };
      const deadline = this.#clock.after(ms, () => end(() => reject(timedOut(this.#connection.trouble))));
      let tries = 0;
      const begin = (): void => {
        if (over) return;
        this.#pending += weight;
        attempt().then(
          (answer) => {
            this.#pending -= weight;
            if (!over) end(() => resolve(answer));
          },
          (error: Error) => {
            this.#pending -= weight;
            if (over) return;
            const pause = waits[tries++];
            if (pause !== undefined && mayPass(error)) this.#clock.after(pause, begin);
            else end(() => reject(unavailable(error, this.#connection.trouble)));
          },
        );
      };
      begin();
    });
  }
}

/**
 * Redis serves no other command while a script runs. Damaged rows of one session must not fail the commands of
 * others.
 */
const bounds = {
  itemsMax: limits.redisGatheredMax,
  sizeMax: redisGatheredCharactersMax,
  mayBeOneItems: (error: unknown): boolean =>
    error instanceof StoreUnavailable && error.cause instanceof Error && ofScript.test(error.cause.message),
};

/**
 * The characters and bytes of a call's arguments, and those that the step reads: a turn's end reads all of its output.
 */
function sizeOf(name: ScriptName): (values: readonly Argument[]) => number {
  const position = name === 'finish-turn' ? steps[name].indexOf('position') : -1;
  return (values) =>
    values.reduce<number>(
      (sum, value, index) => sum + (typeof value !== 'number' ? value.length : index === position ? value : 0),
      0,
    );
}

const because = (trouble: string | null): string => (trouble === null ? '' : ` (${trouble})`);

const timedOut = (trouble: string | null): StoreUnavailable =>
  new StoreUnavailable(`Redis did not answer in time${because(trouble)}.`);

const plain = (given: readonly Argument[]): (string | Buffer)[] =>
  given.map((each) => (typeof each === 'number' ? String(each) : typeof each === 'string' ? each : asBuffer(each)));

const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Redis's own errors begin with a word in capitals; any other error arose on the way to Redis, and may pass. */
const ofRedis = /^[A-Z]{3,} /;
/** The errors of a script itself and of a row that has another type; all other errors come from the server. */
const ofScript = /^(?:ERR|WRONGTYPE) /;
const mayPass = (error: Error): boolean =>
  !(error instanceof StoreUnavailable) &&
  (passing.test(error.message) || isDemoted(error.message) || !ofRedis.test(error.message));

const unavailable = (error: Error, trouble: string | null): StoreUnavailable =>
  error instanceof StoreUnavailable
    ? error
    : new StoreUnavailable(`Redis could not answer: ${error.message}${because(trouble)}`, { cause: error });
