/**
 * The name of each verb as a step, by which metrics count it and tests lose its answers; and how to put something
 * between a store and its callers.
 */
import type { Store } from './store.ts';

type Facts = Pick<Store, 'name' | 'leaseMs' | 'pubSub'>;
type OwnVerb = { [K in keyof Store]-?: Store[K] extends (...given: never) => unknown ? K : never }[keyof Store];
type PartName = Exclude<keyof Store, keyof Facts | OwnVerb>;
type Verb = OwnVerb | { [P in PartName]: `${P}.${keyof Store[P] & string}` }[PartName];

/** Each verb with the name of its step. The names are public, as labels of `parley_store_seconds` (contract 11). */
const steps = {
  'catalog.create': 'catalog.create',
  'catalog.read': 'catalog.read',
  'catalog.replace': 'catalog.replace',
  'catalog.remove': 'catalog.remove',
  'catalog.list': 'catalog.list',
  'catalog.keyByPublicId': 'catalog.keyByPublicId',
  'catalog.assistantBySlug': 'catalog.assistantBySlug',
  'catalog.releaseCounts': 'catalog.releaseCounts',
  'sessions.create': 'createSession',
  'sessions.read': 'session',
  'sessions.awaitMove': 'awaitSession',
  'sessions.list': 'sessions',
  'sessions.save': 'saveSession',
  'sessions.charge': 'chargeSession',
  'sessions.discard': 'discardSession',
  'sessions.messages': 'messages',
  'sessions.recentMessages': 'recentMessages',
  'turns.begin': 'beginTurn',
  'turns.append': 'appendOutput',
  'turns.renew': 'renewTurn',
  'turns.release': 'releaseOutput',
  'turns.step': 'stepTurn',
  'turns.requestStop': 'requestStop',
  'turns.finish': 'finishTurn',
  'turns.withdraw': 'withdrawTurn',
  'turns.claim': 'claimTurn',
  'turns.rate': 'rateTurn',
  'turns.takeOver': 'takeOverTurn',
  'turns.orphans': 'orphans',
  'turns.read': 'turn',
  'turns.output': 'output',
  'turns.calls': 'turnCalls',
  'turns.outputAfter': 'outputAfter',
  'turns.inFlight': 'turnsInFlight',
  'desk.attend': 'attendSession',
  'desk.list': 'deskSessions',
  'desk.workspaces': 'deskWorkspaces',
  'limits.takeBudgets': 'takeBudgets',
  'limits.readBudgets': 'readBudgets',
  'limits.take': 'takeLimits',
  'limits.used': 'usedLimits',
  'usage.read': 'usage',
  'usage.count': 'countUsage',
  'requests.find': 'remembered',
  'history.read': 'history',
  'erasures.begin': 'beginErasure',
  'erasures.eraseSession': 'eraseSession',
  'erasures.eraseRecord': 'eraseRecord',
  'erasures.forget': 'forgetTraces',
  'erasures.finish': 'finishErasure',
  'erasures.unfinished': 'unfinishedErasures',
  'webhooks.claim': 'claimDeliveries',
  'webhooks.settle': 'settleDelivery',
  'webhooks.failPending': 'failDeliveries',
  'webhooks.list': 'deliveries',
  'webhooks.retry': 'retryDelivery',
  'webhooks.overdueSessions': 'overdueSessions',
  open: 'open',
  close: 'close',
  ping: 'ping',
  confirm: 'confirm',
  watch: 'watch',
  noteTime: 'noteTime',
  sweep: 'sweep',
} as const satisfies Readonly<Record<Verb, string>>;

type CallOf<V extends Verb> = V extends keyof Store
  ? Store[V]
  : V extends `${infer P extends PartName}.${infer K}`
    ? K extends keyof Store[P]
      ? Store[P][K]
      : never
    : never;

/** The signature of each step. */
export type Steps = { [V in Verb as (typeof steps)[V]]: CallOf<V> };
export type StepName = keyof Steps;

/** A step of any name, as a wrapper handles it. */
export type AnyStep = (...given: any[]) => any;

interface Holder {
  [verb: string]: AnyStep;
}

const places: ReadonlyMap<StepName, { readonly part: PartName | null; readonly verb: string }> = new Map(
  Object.entries(steps).map(([path, name]) => {
    const [first, second] = path.split('.') as [string, string?];
    return [name, second === undefined ? { part: null, verb: first } : { part: first as PartName, verb: second }];
  }),
);

export const stepNames: readonly StepName[] = [...places.keys()];

function placeOf(store: Store, name: StepName): { readonly holder: Holder; readonly verb: string } {
  const { part, verb } = places.get(name)!;
  return { holder: (part === null ? store : store[part]) as unknown as Holder, verb };
}

/** The store's step of that name, as a function that needs no object. */
export function stepOf<S extends StepName>(store: Store, name: S): Steps[S] {
  const { holder, verb } = placeOf(store, name);
  return holder[verb]!.bind(holder) as Steps[S];
}

/** Takes the store's step of that name. */
export function takeStep(store: Store, name: StepName, given: readonly any[]): any {
  const { holder, verb } = placeOf(store, name);
  return holder[verb]!(...given);
}

/** A store made of steps. `stepFor` is called once for each name. */
export function storeOf({ name, leaseMs, pubSub }: Facts, stepFor: (name: StepName) => AnyStep): Store {
  const store: Record<string, unknown> = { name, leaseMs, ...(pubSub && { pubSub }) };
  for (const [step, { part, verb }] of places) {
    const holder = (part === null ? store : (store[part] ??= {})) as Holder;
    holder[verb] = stepFor(step);
  }
  return store as unknown as Store;
}

/**
 * The store with some steps replaced. `change` is called once for each name; if it returns undefined, the step stays.
 */
export function wrapStore(store: Store, change: (name: StepName, plain: AnyStep) => AnyStep | undefined): Store {
  return storeOf(store, (name) => {
    const plain: AnyStep = stepOf(store, name);
    return change(name, plain) ?? plain;
  });
}
