/**
 * The token budget of an API key (contract 19). The step that begins a turn reserves an upper bound of the turn's tokens
 * in the counter of the key's UTC day; the step that ends the turn settles the tokens that it used. Nothing is stored
 * here: the steps of the store apply the decisions.
 */
import type { AskedLimit, Key, LookedLimit, ReservedTokens, SettledLimit, TakenLimit } from '../store/store.ts';
import { dayMs, nextDay } from './link-budget.ts';

export interface TokenBudget {
  readonly keyId: string;
  readonly tokensPerDay: number;
}

/** Null without a budget. */
export const tokenBudgetOf = ({ id, limits: { tokensPerDay } }: Pick<Key, 'id' | 'limits'>): TokenBudget | null =>
  tokensPerDay == null ? null : { keyId: id, tokensPerDay };

const nameOf = (keyId: string): string => `${keyId}/tokens`;

/** A turn's request to the budget, and the turn's record of it. */
export interface Reservation {
  readonly asked: AskedLimit;
  readonly reserved: ReservedTokens;
}

export const reservationOf = ({ keyId, tokensPerDay }: TokenBudget, tokens: number, at: number): Reservation => ({
  asked: { kind: 'quota', name: nameOf(keyId), ceiling: tokensPerDay, periodMs: dayMs, cost: tokens },
  reserved: { keyId, dayMs: at - (at % dayMs), tokens },
});

/** Replaces a reservation by the tokens that the turn used. A day that has passed is left alone. */
export const settlementOf = ({ keyId, dayMs: sinceMs, tokens }: ReservedTokens, used: number): SettledLimit => ({
  kind: 'counter',
  name: nameOf(keyId),
  periodMs: dayMs,
  sinceMs,
  cost: used - tokens,
});

/** Whole seconds until the budget begins anew, after it has refused a turn. */
export const secondsToRenewal = ({ waitMs }: TakenLimit, at: number): number =>
  Math.max(1, Math.ceil((waitMs ?? nextDay(at) - at) / 1000));

/** Tokens used and reserved today, as a limit to read. */
export const usedTokens = (keyId: string): LookedLimit => ({ kind: 'counter', name: nameOf(keyId), periodMs: dayMs });

/** The budget as it stands after so many tokens; `resetAt`: the Unix second at which it begins anew. */
export const standingTokens = (tokensPerDay: number, used: number, at: number) => ({
  remaining: Math.max(0, tokensPerDay - used),
  resetAt: nextDay(at) / 1000,
});
