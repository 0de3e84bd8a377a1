/**
 * An API key: which requests it still permits (contract 4 and 5).
 *
 * The budgets are plain numbers that the pure function in `budget.ts` changes in one atomic step of the store; a
 * `request` event carries that step's verdict. The machine gets the event if the verdict moves it: to `limited` while a
 * budget is in debt, back to `active` with the first request or tick after the debt is paid off.
 */
import { assign, emit, setup } from 'xstate';
import { versionAfter, type MachineKind, type Migration } from './version.ts';
import { typesOf } from './types.ts';

/** Migrations from each earlier version to the next. */
const migrations: readonly Migration[] = [];
export const keyVersion = versionAfter(migrations);

export interface KeyContext {
  /** Unix seconds; null for never. */
  readonly expiresAt: number | null;
  /** Unix seconds. */
  readonly revokedAt: number | null;
  /**
   * The budget that is in debt the longest; null in `active` and `revoked`. A key that expires keeps it, so that a
   * later expiry date makes the key as limited as it was before.
   */
  readonly debt: Debt | null;
}

export interface Debt {
  readonly budget: string;
  /** Milliseconds since the epoch at which a request passes again. */
  readonly until: number;
}

/** The levels of budgets by name, as the rate headers show them. */
export type Levels = Readonly<
  Record<string, { readonly limit: number; readonly remaining: number; readonly reset: number }>
>;

export type KeyEvent =
  /**
   * A request arrives; `debt` is the verdict on its budgets, null if all passed. `budgets`: their levels after it, for
   * those who watch.
   */
  | { type: 'request'; at: number; debt: Debt | null; budgets?: Levels }
  | { type: 'revoke'; at: number }
  | { type: 'configure'; at: number; expiresAt: number | null }
  /** A deadline may be due. */
  | { type: 'tick'; at: number };

export type KeyOutcome =
  | { type: 'refused'; code: string }
  | { type: 'accepted' }
  | { type: 'unchanged' }
  | { type: 'configured' }
  | { type: 'key.limited'; budget: string }
  | { type: 'key.recovered' }
  | { type: 'key.revoked' }
  | { type: 'key.expired' };

/**
 * Milliseconds until the longest debt is paid off, and some more. A debt that lasts longer was made before the clock
 * was set back.
 */
const debtMsMax = 2 * 60_000;

/** Whether the expiry date in the event is in the future. */
const isProlonged = (event: KeyEvent): boolean =>
  event.type === 'configure' && (event.expiresAt === null || event.expiresAt * 1000 > event.at);

const isPaidOff = ({ debt }: KeyContext, { at }: KeyEvent): boolean =>
  debt === null || at >= debt.until || debt.until - at > debtMsMax;

/** A budget's newer refusal replaces its older one; of two budgets in debt, the one that recovers last counts. */
export const longerDebt = (current: Debt | null, debt: Debt | null): Debt | null =>
  current !== null && debt !== null && current.budget !== debt.budget && current.until > debt.until ? current : debt;

export const keyMachine = setup({
  types: typesOf<KeyContext, KeyEvent, KeyOutcome, { expiresAt: number | null }>(),
  guards: {
    overdue: ({ context, event }) => context.expiresAt !== null && event.at >= context.expiresAt * 1000,
    overBudget: ({ event }) => event.type === 'request' && event.debt !== null,
    paidOff: ({ context, event }) => isPaidOff(context, event),
    prolonged: ({ event }) => isProlonged(event),
    prolongedInDebt: ({ context, event }) => isProlonged(event) && !isPaidOff(context, event),
  },
  actions: {
    refuse: emit((_, { code }: { code: string }) => ({ type: 'refused' as const, code })),
    accept: emit({ type: 'accepted' }),
    unchanged: emit({ type: 'unchanged' }),
    noteDebt: assign(({ context, event }) =>
      event.type === 'request' ? { debt: longerDebt(context.debt, event.debt) } : {},
    ),
    clearDebt: assign({ debt: null }),
    announceLimited: emit(({ context }) => ({ type: 'key.limited' as const, budget: context.debt?.budget ?? '' })),
    announceRecovered: emit({ type: 'key.recovered' }),
    revokeNow: assign(({ event }) => ({ revokedAt: Math.floor(event.at / 1000) })),
    announceRevoked: emit({ type: 'key.revoked' }),
    announceExpired: emit({ type: 'key.expired' }),
    setExpiry: assign(({ event }) => (event.type === 'configure' ? { expiresAt: event.expiresAt } : {})),
    configured: emit({ type: 'configured' }),
  },
}).createMachine({
  id: 'key',
  context: ({ input }) => ({ expiresAt: input.expiresAt, revokedAt: null, debt: null }),
  initial: 'active',
  states: {
    active: {
      description: 'Within its budgets.',
      on: {
        request: [
          {
            guard: 'overdue',
            target: 'expired',
            actions: ['announceExpired', { type: 'refuse', params: { code: 'expired_api_key' } }],
          },
          {
            guard: 'overBudget',
            target: 'limited',
            actions: ['noteDebt', 'announceLimited', { type: 'refuse', params: { code: 'rate_limited' } }],
          },
          { actions: 'accept' },
        ],
        revoke: { target: 'revoked', actions: ['revokeNow', 'announceRevoked'] },
        configure: [
          { guard: 'prolonged', actions: ['setExpiry', 'configured'] },
          { target: 'expired', actions: ['setExpiry', 'configured', 'announceExpired'] },
        ],
        tick: [{ guard: 'overdue', target: 'expired', actions: 'announceExpired' }, { actions: 'unchanged' }],
      },
    },
    limited: {
      description: 'A budget is in debt; requests on it are refused until it is paid off.',
      on: {
        request: [
          {
            guard: 'overdue',
            target: 'expired',
            actions: ['announceExpired', { type: 'refuse', params: { code: 'expired_api_key' } }],
          },
          { guard: 'overBudget', actions: ['noteDebt', { type: 'refuse', params: { code: 'rate_limited' } }] },
          { guard: 'paidOff', target: 'active', actions: ['clearDebt', 'announceRecovered', 'accept'] },
          // Another budget of the same key passed; this one is still in debt.
          { actions: 'accept' },
        ],
        revoke: { target: 'revoked', actions: ['clearDebt', 'revokeNow', 'announceRevoked'] },
        configure: [
          { guard: 'prolonged', actions: ['setExpiry', 'configured'] },
          { target: 'expired', actions: ['setExpiry', 'configured', 'announceExpired'] },
        ],
        tick: [
          { guard: 'overdue', target: 'expired', actions: 'announceExpired' },
          { guard: 'paidOff', target: 'active', actions: ['clearDebt', 'announceRecovered'] },
          { actions: 'unchanged' },
        ],
      },
    },
    revoked: {
      description: 'Tombstone of a key that was revoked; stays on record so that its code stays distinct.',
      on: {
        request: { actions: { type: 'refuse', params: { code: 'revoked_api_key' } } },
        revoke: { actions: 'unchanged' },
        configure: { actions: ['setExpiry', 'configured'] },
        tick: { actions: 'unchanged' },
      },
    },
    expired: {
      description: 'Past its expiry date; a later date brings it back.',
      on: {
        request: { actions: { type: 'refuse', params: { code: 'expired_api_key' } } },
        revoke: { target: 'revoked', actions: ['clearDebt', 'revokeNow', 'announceRevoked'] },
        configure: [
          { guard: 'prolongedInDebt', target: 'limited', actions: ['setExpiry', 'configured'] },
          { guard: 'prolonged', target: 'active', actions: ['clearDebt', 'setExpiry', 'configured'] },
          { actions: ['setExpiry', 'configured'] },
        ],
        tick: { actions: 'unchanged' },
      },
    },
  },
});

export const keyKind: MachineKind = { name: 'key', machine: keyMachine, version: keyVersion, migrations };
