/**
 * The values that fast-check draws for one step: a verb and numbers, which `steps.ts` turns into a call on the rows
 * that the stores then hold.
 */
import fc from 'fast-check';

/** Weights of the verbs. `again` sends an earlier step a second time; `wait` and `reopen` call no verb. */
const weights = {
  createSession: 4,
  session: 1,
  sessions: 2,
  saveSession: 3,
  chargeSession: 1,
  attendSession: 3,
  deskSessions: 1,
  discardSession: 1,
  eraseSession: 1,
  beginTurn: 15,
  appendOutput: 12,
  renewTurn: 4,
  releaseOutput: 4,
  stepTurn: 3,
  requestStop: 3,
  finishTurn: 7,
  withdrawTurn: 5,
  takeOverTurn: 5,
  claimTurn: 2,
  rateTurn: 2,
  orphans: 1,
  turn: 1,
  output: 1,
  outputAfter: 4,
  turnCalls: 1,
  turnsInFlight: 1,
  awaitSession: 2,
  messages: 1,
  recentMessages: 2,
  history: 2,
  remembered: 2,
  takeBudgets: 5,
  readBudgets: 2,
  takeLimits: 3,
  usedLimits: 1,
  countUsage: 2,
  usage: 2,
  claimDeliveries: 3,
  settleDelivery: 3,
  deliveries: 1,
  failDeliveries: 1,
  retryDelivery: 1,
  overdueSessions: 1,
  sweep: 1,
  ping: 1,
  confirm: 1,
  create: 2,
  read: 1,
  replace: 2,
  remove: 1,
  list: 1,
  keyByPublicId: 1,
  assistantBySlug: 1,
  releaseCounts: 1,
  testStep: 8,
  eraseRecord: 1,
  beginErasure: 1,
  forgetTraces: 1,
  finishErasure: 1,
  unfinishedErasures: 1,
  again: 10,
  wait: 5,
  reopen: 1,
} as const;

export type DrawnVerb = keyof typeof weights;

export interface Drawn {
  readonly verb: DrawnVerb;
  /** The index among the known things, counted from the newest. */
  readonly pick: number;
  /** A further choice, as each verb takes it. */
  readonly which: number;
  /** 0: version, fence or position as they are; else one of several wrong ones. */
  readonly near: number;
  /** Duration of a lease, a wait or a memory: an index of the verb's list. */
  readonly lasts: number;
  readonly text: string;
  readonly flag: boolean;
  /** Picks a turn in flight if there is any; true for three in four. */
  readonly alive: boolean;
}

const verb = fc.oneof(
  ...Object.entries(weights).map(([name, weight]) => ({ weight, arbitrary: fc.constant(name as DrawnVerb) })),
);
const newest = fc.oneof(
  { weight: 4, arbitrary: fc.constant(0) },
  { weight: 2, arbitrary: fc.constant(1) },
  { weight: 2, arbitrary: fc.nat(9) },
);
const near = fc.oneof(
  { weight: 4, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 3 }) },
);
const alive = fc.constantFrom(true, true, true, false);
const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 5 }), fc.constantFrom('', 'a', '👋x', 'é\u0000"'));

const drawn: fc.Arbitrary<Drawn> = fc.record({
  verb,
  pick: newest,
  which: fc.nat(7),
  near,
  lasts: fc.nat(5),
  text,
  flag: fc.boolean(),
  alive,
});

/** Sequences of up to `length` steps; the shortest that differs may be far shorter. */
export const sequences = (length: number): fc.Arbitrary<Drawn[]> =>
  fc.noBias(fc.array(drawn, { maxLength: length, size: 'max' }));
