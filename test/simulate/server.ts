/**
 * The store that processes share, and their ways to it over a network that delays, reorders, loses requests and
 * replies, and sends again, as the one in front of Redis does.
 */
import type { Clock } from '../../src/base/clock.ts';
import { limits } from '../../src/base/limits.ts';
import { EmbeddedStore } from '../../src/store/embedded.ts';
import type { StepName } from '../../src/store/steps.ts';
import {
  StoreUnavailable,
  type AskedLimit,
  type Notice,
  type Store,
  type TakeLimits,
  type TurnPlace,
} from '../../src/store/store.ts';
import { epochMs, type Gate } from './clock.ts';
import { SharedRows } from './rows.ts';
import { performOn, recorded, simulatedStore, type Perform } from './store.ts';
import type { World } from './world.ts';

/** State that a retried step must find unchanged. */
interface Sending {
  untilMs?: number;
  answer?: Promise<unknown>;
}

/** Steps that cannot be told apart from a retry by their content: the server remembers their answers. */
const writes: ReadonlySet<StepName> = new Set<StepName>([
  'saveSession',
  'attendSession',
  'takeBudgets',
  'takeLimits',
  'countUsage',
  'catalog.create',
  'catalog.replace',
  'catalog.remove',
]);

/** The shared store behind the network; the time is its own. */
export class Server {
  readonly #world: World;
  readonly #snapshots: SharedRows[] = [];
  readonly #listeners = new Set<(notice: Notice) => void>();
  #rows = new SharedRows();
  #store = new EmbeddedStore(this.#rows);
  up = true;

  constructor(world: World) {
    this.#world = world;
  }

  async open(): Promise<void> {
    await this.#store.open(this.nowMs);
    await this.#store.watch((notice) => this.#tell(notice));
  }

  get nowMs(): number {
    return epochMs + this.#world.scheduler.now;
  }

  /** A process's clock with the server's time. */
  timeFor(clock: Clock): Clock {
    return {
      now: () => this.nowMs,
      monotonic: () => clock.monotonic(),
      after: (delayMs, callback) => clock.after(delayMs, callback),
      stop: () => {},
    };
  }

  get store(): Store {
    return this.#store;
  }

  get rows(): SharedRows {
    return this.#rows;
  }

  watch(listener: (notice: Notice) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  perform(host: string, verb: StepName, args: readonly any[], sending: Sending): Promise<unknown> {
    const { history, bug } = this.#world;
    if (writes.has(verb) && verb !== bug?.forgets && sending.answer !== undefined) return sending.answer;
    const plain = performOn(this.#store);
    const perform = recorded(history, host, bug?.steps?.(plain, { host, given: args }) ?? plain, () => this.nowMs);
    const answer = Promise.resolve(perform(verb, byServersClock(verb, args, this.nowMs, sending)));
    sending.answer = answer;
    return answer;
  }

  /** Keeps the state as it is, for a failover to come back to; the budgets are written first. */
  async snapshot(): Promise<void> {
    await this.#store.ping();
    this.#world.history.entries.push({ type: 'snapshot', id: this.#snapshots.length });
    this.#snapshots.push(await this.#rows.copy());
  }

  get snapshots(): number {
    return this.#snapshots.length;
  }

  /** Another server takes over, with the state of a snapshot: leases continue as they are in it. */
  async failover(to: number): Promise<void> {
    this.#rows = await this.#snapshots[to]!.copy();
    this.#store = new EmbeddedStore(this.#rows);
    this.#rows.deaf = true;
    await this.open();
    this.#rows.deaf = false;
    this.#world.history.entries.push({ type: 'failover', to });
    this.#tell({ type: 'missed' });
  }

  #tell(notice: Notice): void {
    for (const listener of this.#listeners) listener(notice);
  }
}

const askedBy = ({ asked, nowMs }: TakeLimits, until: (untilMs: number, nowMs: number) => number): AskedLimit[] =>
  asked.map((each) => (each.kind === 'place' ? { ...each, untilMs: until(each.untilMs, nowMs) } : each));

/** Leases and memories come as durations: when they end is for the server's clock to say. */
function byServersClock(verb: StepName, args: readonly any[], now: number, sending: Sending): readonly any[] {
  const [step] = args;
  const until = (untilMs: number, nowMs: number): number => now + untilMs - nowMs;
  const remember = (nowMs: number) =>
    step.remember && { ...step.remember, untilMs: until(step.remember.untilMs, nowMs) };
  switch (verb) {
    case 'createSession':
      return [{ ...step, remember: remember(step.nowMs), nowMs: now }];
    case 'beginTurn':
      return [
        {
          ...step,
          remember: remember(step.nowMs),
          leaseUntilMs: until(step.leaseUntilMs, step.nowMs),
          ...(step.asked && { asked: askedBy(step, until) }),
          nowMs: now,
        },
      ];
    case 'attendSession':
      return [
        {
          ...step,
          remember: remember(step.nowMs),
          ...(step.silences && {
            silences: { ...step.silences, leaseUntilMs: until(step.silences.leaseUntilMs, step.nowMs) },
          }),
          nowMs: now,
        },
      ];
    case 'appendOutput':
      return step.leaseUntilMs === undefined
        ? args
        : [{ ...step, leaseUntilMs: until(step.leaseUntilMs, step.nowMs), nowMs: now }];
    case 'takeLimits':
      return [{ ...step, asked: askedBy(step, until), nowMs: now }];
    case 'usedLimits':
      return [args[0], args[1], now];
    case 'finishTurn':
      return [{ ...step, nowMs: now }];
    case 'requestStop':
      return [args[0], args[1], until(args[2], args[3]), now];
    case 'renewTurn':
      return [args[0], args[1], until(args[2], args[3]), now];
    case 'takeOverTurn':
      return [args[0], args[1], (sending.untilMs ??= until(args[2], args[3])), now];
    case 'saveSession':
      return args[4] === undefined ? args : [...args.slice(0, 4), now, ...args.slice(5)];
    case 'withdrawTurn':
      return [{ ...step, nowMs: now }];
    case 'overdueSessions':
    case 'orphans':
    case 'sweep':
      return [now, args[1]];
    case 'remembered':
    case 'takeBudgets':
      return [args[0], args[1], args[2], now];
    default:
      return args;
  }
}

/** Pauses before a further try, as in front of Redis. */
const pauses = [20, 60, 200, 400] as const;

/** Retries while there is time, and never sends a call that was given up. */
function within(clock: Clock, send: (sending: Sending) => Promise<unknown>): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const sending: Sending = {};
    let over = false;
    let tries = 0;
    const end = (settle: () => void): void => {
      over = true;
      deadline.cancel();
      settle();
    };
    const deadline = clock.after(limits.redisCallMs, () =>
      end(() => reject(new StoreUnavailable('The store did not answer in time.'))),
    );
    const attempt = (): void => {
      if (over) return;
      send(sending).then(
        (told) => end(() => resolve(told)),
        (error: Error) => {
          const pause = pauses[tries++];
          if (error instanceof RangeError && tries > 3) end(() => reject(error));
          else if (pause === undefined) end(() => reject(new StoreUnavailable('The store is away.')));
          else clock.after(pause, attempt);
        },
      );
    };
    attempt();
  });
}

async function sendAgain({ server, history }: World, host: string, place: TurnPlace): Promise<void> {
  for (const { id, name, status } of await server.store.turns.calls(place))
    if (status === 'running') history.reach({ host, callId: id, turnId: place.turnId, name });
}

/** One process's way to the server. */
export function linkTo(world: World, machine: string, host: string, gate: Gate, clock: Clock): Store {
  const { server, scheduler, weather, bug } = world;
  const { random } = scheduler;
  const send = (verb: StepName, args: readonly any[], sending: Sending): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const later = (callback: () => void): unknown =>
        scheduler.after(random.delay(weather.netMs, 300), () => gate.enter(callback));
      // A connection that breaks is noticed, or nothing is ever heard again.
      const broken = (): unknown => random.chance(0.7) && later(() => reject(new Error('The connection is broken.')));
      if (!server.up || world.cutOff.has(machine)) return broken();
      const lost = random.chance(weather.losesRequests);
      const wayMs = random.chance(weather.isLate) ? random.between(500, 6000) : random.delay(weather.netMs, 1000);
      scheduler.after(wayMs, () => {
        if (lost || !server.up) return broken();
        const silent = random.chance(weather.losesReplies);
        const mute = verb === weather.mutes && random.chance(weather.mutesShare);
        server.perform(host, verb, args, sending).then(
          (answer) => (mute ? null : silent || world.cutOff.has(machine) ? broken() : later(() => resolve(answer))),
          (error) => later(() => reject(error)),
        );
      });
    });
  const call: Perform = (verb, args) => {
    const answer = within(clock, (sending) => send(verb, args, sending));
    if (bug?.reruns && verb === 'takeOverTurn')
      void answer.then((fence) => fence && sendAgain(world, host, args[0])).catch(() => {});
    if (!bug?.answersEarly || verb !== 'appendOutput') return answer;
    answer.catch(() => {});
    return Promise.resolve('stored');
  };
  return simulatedStore(
    {
      leaseMs: limits.leaseMs,
      open: async () => {},
      close: async () => {},
      watch: async (listener) => {
        const unwatch = server.watch((notice) => {
          if (random.chance(weather.losesNotices) || world.cutOff.has(machine)) return;
          scheduler.after(random.delay(weather.netMs, 500), () => gate.enter(() => listener(notice)));
        });
        return async () => unwatch();
      },
    },
    call,
  );
}
