import type { Debt, KeyContext, KeyEvent } from '../../machines/key.ts';
import type { Row } from './machine.ts';

const inTime = 1_999_999;
const due = 2_000_000;

const speechDebt: Debt = { budget: 'speech', until: 1_050_000 };
const requestsDebt: Debt = { budget: 'requests', until: 1_001_000 };
const longerRequestsDebt: Debt = { budget: 'requests', until: 1_060_000 };
const shorterSpeechDebt: Debt = { budget: 'speech', until: 1_002_000 };

const active: KeyContext = { expiresAt: 2000, revokedAt: null, debt: null };
const eternal: KeyContext = { ...active, expiresAt: null };
const limited: KeyContext = { ...active, debt: speechDebt };
const revoked: KeyContext = { ...active, revokedAt: 900 };
const expired: KeyContext = { ...active, expiresAt: 1000 };
const expiredInDebt: KeyContext = { ...expired, debt: speechDebt };

const request = (at: number, debt: Debt | null = null): KeyEvent => ({ type: 'request', at, debt });
const revoke = (at: number): KeyEvent => ({ type: 'revoke', at });
const configure = (at: number, expiresAt: number | null): KeyEvent => ({ type: 'configure', at, expiresAt });
const tick = (at: number): KeyEvent => ({ type: 'tick', at });

const refused = (code: string) => ({ type: 'refused', code });
const accepted = { type: 'accepted' };
const unchanged = { type: 'unchanged' };
const configured = { type: 'configured' };
const keyLimited = (budget: string) => ({ type: 'key.limited', budget });
const recovered = { type: 'key.recovered' };
const keyRevoked = { type: 'key.revoked' };
const keyExpired = { type: 'key.expired' };

export const keyRows: Row<KeyContext, KeyEvent>[] = [
  { from: 'active', context: active, event: request(inTime), to: 'active', outcomes: [accepted] },
  { from: 'active', context: eternal, event: request(due), to: 'active', outcomes: [accepted] },
  {
    from: 'active',
    context: active,
    event: request(1_000_000, speechDebt),
    to: 'limited',
    outcomes: [keyLimited('speech'), refused('rate_limited')],
    changes: { debt: speechDebt },
  },
  {
    from: 'active',
    context: active,
    event: request(due),
    to: 'expired',
    outcomes: [keyExpired, refused('expired_api_key')],
  },
  // Authentication comes before the budgets (contract 3, steps 2 and 3).
  {
    from: 'active',
    context: active,
    event: request(due, speechDebt),
    to: 'expired',
    outcomes: [keyExpired, refused('expired_api_key')],
  },
  {
    from: 'active',
    context: active,
    event: revoke(1_000_900),
    to: 'revoked',
    outcomes: [keyRevoked],
    changes: { revokedAt: 1000 },
  },
  // A key both revoked and expired is revoked (contract 4).
  {
    from: 'active',
    context: active,
    event: revoke(due),
    to: 'revoked',
    outcomes: [keyRevoked],
    changes: { revokedAt: 2000 },
  },
  {
    from: 'active',
    context: active,
    event: configure(1_000_000, null),
    to: 'active',
    outcomes: [configured],
    changes: { expiresAt: null },
  },
  {
    from: 'active',
    context: active,
    event: configure(1_000_000, 1001),
    to: 'active',
    outcomes: [configured],
    changes: { expiresAt: 1001 },
  },
  {
    from: 'active',
    context: active,
    event: configure(1_000_000, 1000),
    to: 'expired',
    outcomes: [configured, keyExpired],
    changes: { expiresAt: 1000 },
  },
  { from: 'active', context: active, event: tick(inTime), to: 'active', outcomes: [unchanged] },
  { from: 'active', context: eternal, event: tick(due), to: 'active', outcomes: [unchanged] },
  { from: 'active', context: active, event: tick(due), to: 'expired', outcomes: [keyExpired] },

  {
    from: 'limited',
    context: limited,
    event: request(1_000_000, longerRequestsDebt),
    to: 'limited',
    outcomes: [refused('rate_limited')],
    changes: { debt: longerRequestsDebt },
  },
  // Two budgets in debt: the key is limited until the last of them has recovered.
  {
    from: 'limited',
    context: limited,
    event: request(1_000_000, requestsDebt),
    to: 'limited',
    outcomes: [refused('rate_limited')],
  },
  // The same budget's newer word counts, be it shorter: its ceiling may have been raised.
  {
    from: 'limited',
    context: limited,
    event: request(1_000_000, shorterSpeechDebt),
    to: 'limited',
    outcomes: [refused('rate_limited')],
    changes: { debt: shorterSpeechDebt },
  },
  { from: 'limited', context: limited, event: request(1_049_999), to: 'limited', outcomes: [accepted] },
  {
    from: 'limited',
    context: limited,
    event: request(1_050_000),
    to: 'active',
    outcomes: [recovered, accepted],
    changes: { debt: null },
  },
  {
    from: 'limited',
    context: limited,
    event: request(1_050_000, { budget: 'requests', until: 1_051_000 }),
    to: 'limited',
    outcomes: [refused('rate_limited')],
    changes: { debt: { budget: 'requests', until: 1_051_000 } },
  },
  {
    from: 'limited',
    context: limited,
    event: request(due, longerRequestsDebt),
    to: 'expired',
    outcomes: [keyExpired, refused('expired_api_key')],
  },
  {
    from: 'limited',
    context: limited,
    event: revoke(1_000_000),
    to: 'revoked',
    outcomes: [keyRevoked],
    changes: { revokedAt: 1000, debt: null },
  },
  {
    from: 'limited',
    context: limited,
    event: configure(1_000_000, 3000),
    to: 'limited',
    outcomes: [configured],
    changes: { expiresAt: 3000 },
  },
  {
    from: 'limited',
    context: limited,
    event: configure(1_000_000, 999),
    to: 'expired',
    outcomes: [configured, keyExpired],
    changes: { expiresAt: 999 },
  },
  { from: 'limited', context: limited, event: tick(1_049_999), to: 'limited', outcomes: [unchanged] },
  // No debt lasts for so long: the clock was set back.
  { from: 'limited', context: limited, event: tick(speechDebt.until - 120_000), to: 'limited', outcomes: [unchanged] },
  {
    from: 'limited',
    context: limited,
    event: tick(speechDebt.until - 120_001),
    to: 'active',
    outcomes: [recovered],
    changes: { debt: null },
  },
  {
    from: 'limited',
    context: limited,
    event: request(0),
    to: 'active',
    outcomes: [recovered, accepted],
    changes: { debt: null },
  },
  {
    from: 'limited',
    context: limited,
    event: tick(1_050_000),
    to: 'active',
    outcomes: [recovered],
    changes: { debt: null },
  },
  { from: 'limited', context: limited, event: tick(due), to: 'expired', outcomes: [keyExpired] },

  { from: 'revoked', context: revoked, event: request(inTime), to: 'revoked', outcomes: [refused('revoked_api_key')] },
  { from: 'revoked', context: revoked, event: request(due), to: 'revoked', outcomes: [refused('revoked_api_key')] },
  { from: 'revoked', context: revoked, event: revoke(inTime), to: 'revoked', outcomes: [unchanged] },
  {
    from: 'revoked',
    context: revoked,
    event: configure(1_000_000, 3000),
    to: 'revoked',
    outcomes: [configured],
    changes: { expiresAt: 3000 },
  },
  { from: 'revoked', context: revoked, event: tick(due), to: 'revoked', outcomes: [unchanged] },

  {
    from: 'expired',
    context: expired,
    event: request(1_000_000),
    to: 'expired',
    outcomes: [refused('expired_api_key')],
  },
  {
    from: 'expired',
    context: expired,
    event: request(1_000_000, speechDebt),
    to: 'expired',
    outcomes: [refused('expired_api_key')],
  },
  {
    from: 'expired',
    context: expiredInDebt,
    event: revoke(1_000_000),
    to: 'revoked',
    outcomes: [keyRevoked],
    changes: { revokedAt: 1000, debt: null },
  },
  {
    from: 'expired',
    context: expired,
    event: configure(1_000_000, null),
    to: 'active',
    outcomes: [configured],
    changes: { expiresAt: null },
  },
  { from: 'expired', context: expired, event: configure(1_000_000, 1000), to: 'expired', outcomes: [configured] },
  // A later date is no amnesty.
  {
    from: 'expired',
    context: expiredInDebt,
    event: configure(1_049_999, 3000),
    to: 'limited',
    outcomes: [configured],
    changes: { expiresAt: 3000 },
  },
  {
    from: 'expired',
    context: expiredInDebt,
    event: configure(1_050_000, 3000),
    to: 'active',
    outcomes: [configured],
    changes: { expiresAt: 3000, debt: null },
  },
  { from: 'expired', context: expired, event: tick(due), to: 'expired', outcomes: [unchanged] },
];
