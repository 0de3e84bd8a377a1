/** Calls of the steps of limits, budgets and usage. */
import type { AskedLimit, SettledLimit, UsageQuery } from '../../../src/store/store.ts';
import type { Drawn } from './drawn.ts';
import { Known, chosen } from './known.ts';
import { type Make, call, daySeconds, leases } from './making.ts';

/** A limit of a name has one period. */
const [counterPeriods, bucketPeriods] = [
  [1000, daySeconds * 1000],
  [3_600_000, 60_000],
] as const;

export function askedOf(known: Known, { which, lasts, near }: Drawn): AskedLimit[] {
  const until = known.nowMs + chosen(leases, lasts);
  const [counted, refilled] = [chosen(counterPeriods, which), chosen(bucketPeriods, which)];
  const asked: AskedLimit[] = [
    {
      kind: 'place',
      name: 'places',
      ceiling: chosen([1, 2, 1, 0], near),
      holder: `vis_${which % 3}`,
      untilMs: until,
      ...(lasts > 2 && { seat: `ses_${lasts % 2}` }),
    },
    {
      kind: 'counter',
      name: `asst_1/day/${counted}`,
      ceiling: chosen([2, 3, 0, 60], near),
      periodMs: counted,
      cost: 1 + lasts,
    },
    {
      kind: 'bucket',
      name: `asst_1/address/{*}/${refilled}`,
      ceiling: chosen([2, 7, 1, 0], near),
      periodMs: refilled,
      cost: 1 + (lasts % 2),
    },
    {
      kind: 'quota',
      name: `key_1/tokens/${counted}`,
      ceiling: chosen([3, 2, 60, 0], near),
      periodMs: counted,
      cost: chosen([1, 2, 3, 4], lasts),
    },
  ];
  const first = which % 3;
  return asked.slice(first === 2 ? 0 : first, first === 0 ? 1 : 4);
}

export function settledOf(known: Known, { which, lasts, near }: Drawn): SettledLimit[] {
  const [counted, refilled] = [chosen(counterPeriods, which), chosen(bucketPeriods, which)];
  const sinceMs = known.nowMs - (known.nowMs % counted) - chosen([0, counted, 0, 0], near);
  return [
    {
      kind: 'place',
      name: 'places',
      holder: `vis_${which % 3}`,
      seat: chosen(['', 'ses_0', 'ses_1'], lasts),
      untilMs: known.nowMs + chosen([0, 5_000, 60_000], which),
    },
    { kind: 'counter', name: `asst_1/day/${counted}`, periodMs: counted, sinceMs, cost: chosen([1, -1, -3, 2], lasts) },
    {
      kind: 'counter',
      name: `key_1/tokens/${counted}`,
      periodMs: counted,
      sinceMs,
      cost: chosen([-1, 2, -3, 1], near),
    },
    {
      kind: 'bucket',
      name: `asst_1/address/{*}/${refilled}`,
      ceiling: chosen([2, 7, 1, 0], near),
      periodMs: refilled,
      cost: chosen([-1, -2, 1], lasts),
    },
  ];
}

export const takeBudgets: Make = async (known, { pick, which, lasts, near }) => {
  const workspaceId = known.workspaceId(pick);
  const keyId = known.catalogId('key', which);
  if ((await known.isThere('key', workspaceId, keyId)) === null) return null;
  const ceiling = chosen([1, 2, 3, 60], near);
  // The request's own budget always comes first (contract 3).
  const others = chosen([[], ['speech'], ['transcriptionTokens'], ['speech', 'transcriptionTokens']] as const, lasts);
  return call('takeBudgets', true, [
    workspaceId,
    keyId,
    [{ budget: 'requests', ceiling }, ...others.map((budget) => ({ budget, ceiling: 2 }))],
    known.nowMs,
  ]);
};

export const readBudgets: Make = (known, { pick, which, near }) => {
  const asked = [which, which + 1].map((each) => ({
    id: known.catalogId('key', each % 8),
    limits: { requests: chosen([1, 2, 3, 60], near), speech: 2, transcriptionTokens: 2 },
  }));
  return call('readBudgets', true, [known.workspaceId(pick), asked, known.nowMs]);
};

export const takeLimits: Make = (known, drawn) =>
  call('takeLimits', true, [
    { workspaceId: known.workspaceId(drawn.pick), asked: askedOf(known, drawn), nowMs: known.nowMs },
  ]);

export const usedLimits: Make = (known, { pick, which }) => {
  const counted = chosen(counterPeriods, which);
  return call('usedLimits', true, [
    known.workspaceId(pick),
    [
      { kind: 'place', name: 'places' },
      { kind: 'counter', name: `asst_1/day/${counted}`, periodMs: counted },
      { kind: 'counter', name: `key_1/tokens/${counted}`, periodMs: counted },
    ],
    known.nowMs,
  ]);
};

/** A repeat is known for a minute; sent later it would count again. */
export const countUsage: Make = (known, { pick, which, near, lasts }) =>
  call('countUsage', true, [
    {
      id: known.name(),
      workspaceId: known.workspaceId(pick),
      assistantId: chosen(['asst_0_0', 'asst_1_0'], near),
      ...(which > 2 && { keyId: `key_${which % 2}` }),
      at: known.now - chosen([0, 1], lasts),
      speechCharacters: which,
      transcriptionSeconds: lasts,
    },
  ]);

export const usage: Make = (known, { pick, which, lasts, near }) => {
  const end = known.now + chosen([1, 0, 3_600, 17], near);
  const query: UsageQuery = {
    assistantIds: chosen([null, ['asst_0_0', 'asst_1_0'], []], which),
    ...(which > 3 && { keyId: chosen([null, 'key_0', 'key_1'], lasts) }),
    start: end - chosen([3_600, 10, 2 * daySeconds, 0], lasts),
    end,
    bucketSeconds: chosen([3600, 86_400] as const, which),
  };
  return call('usage', false, [known.workspaceId(pick), query]);
};
