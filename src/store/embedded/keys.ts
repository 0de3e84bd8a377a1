/** The keys of an embedded store's rows: the kind, then the ids from the widest to the narrowest, then a position. */
import { aliasKey } from '../../base/link-fields.ts';
import { account, accountParts, byAccount, isAsked, memoryDigest, part, withKey } from '../key-parts.ts';
import type { BudgetName, CatalogKind, Erasure, HistoryKind, Session, TurnPlace, WebhookDelivery } from '../store.ts';
import type { RowName } from '../records.ts';
import { kindsOfAssistant } from '../records/tests.ts';
import type { Grain } from '../usage.ts';

export { account, accountParts, byAccount, isAsked, part };

/**
 * A step makes some ten keys of one session, and some of them twice: their common part, and those keys, are made once.
 */
let lastSession = { workspaceId: '', sessionId: '', text: '', session: '' };
let lastTurn = { workspaceId: '', sessionId: '', turnId: '', text: '', turn: '', flight: '' };

function ofSession(workspaceId: string, sessionId: string): typeof lastSession {
  if (lastSession.sessionId === sessionId && lastSession.workspaceId === workspaceId) return lastSession;
  const text = `${part(workspaceId)}/${part(sessionId)}`;
  return (lastSession = { workspaceId, sessionId, text, session: `session/${text}` });
}

function ofTurn({ workspaceId, sessionId, turnId }: TurnPlace): typeof lastTurn {
  if (lastTurn.turnId === turnId && lastTurn.sessionId === sessionId && lastTurn.workspaceId === workspaceId)
    return lastTurn;
  const text = `${placed(workspaceId, sessionId)}/${part(turnId)}`;
  return (lastTurn = { workspaceId, sessionId, turnId, text, turn: `turn/${text}`, flight: `flight/${text}` });
}

/** A workspace's session within a key. */
const placed = (workspaceId: string, sessionId: string): string => ofSession(workspaceId, sessionId).text;

/** Zeros, indexed by their count. `padStart` would make such a text anew with each use. */
const zeros = Array.from({ length: 16 }, (_, count) => '0'.repeat(count));

/** Pads a number of at most 15 digits with zeros. */
function padded(number: number, digits: number): string {
  const text = String(number);
  return text.length < digits ? zeros[digits - text.length]! + text : text;
}

/** The span of an assistant's records of a kind. Their ids begin with its own and an underscore; a backtick follows that. */
export const ofAssistant = (kind: CatalogKind, workspaceId: string, assistantId: string): [from: string, to: string] =>
  startingWith(catalog(kind, workspaceId), `${assistantId}_`);

/** The span of rows behind a prefix whose ids begin with a text that ends in an underscore. */
export const startingWith = (prefix: string, begin: string): [from: string, to: string] => {
  const first = prefix + part(begin);
  return [first, `${first.slice(0, -1)}\``];
};

/** The first key after all keys with this prefix, which ends in a slash. */
export const endOf = (prefix: string): string => `${prefix.slice(0, -1)}0`;
/** The key that follows this one directly. */
export const justAfter = (key: string): string => `${key}!`;
export const lastPart = (key: string): string => key.slice(key.lastIndexOf('/') + 1);

export const workspaces = 'workspace/';
export const catalog = (kind: CatalogKind, workspaceId: string): string =>
  kind === 'workspace' ? workspaces : `${kind}/${part(workspaceId)}/`;
/** The row of a session, or of a record, that another one is made of. */
export const named = (workspaceId: string, { kind, id }: RowName): string =>
  kind === 'session' ? session(workspaceId, id) : catalog(kind, workspaceId) + part(id);
export const publicKey = (publicId: string): string => `public-key/${part(publicId)}`;
export const slug = (name: string): string => `slug/${part(name)}`;
export const credentialName = (workspaceId: string, name: string): string =>
  `credential-name/${part(workspaceId)}/${part(name)}`;
export const alias = (workspaceId: string, name: string): string =>
  `alias/${part(workspaceId)}/${part(aliasKey(name))}`;

export const sessions = (workspaceId: string): string => `session/${part(workspaceId)}/`;
export const session = (workspaceId: string, sessionId: string): string => ofSession(workspaceId, sessionId).session;
export const assistantSessions = (workspaceId: string, assistantId: string): string =>
  `session-by-assistant/${part(workspaceId)}/${part(assistantId)}/`;
export const activity = 'session-by-activity/';
export const activeAt = (workspaceId: string, second: number): string =>
  `${activity}${part(workspaceId)}/${padded(second, 12)}/`;

/** The open trials of a workspace; each row has the Unix second at which the trial expires. */
export const trials = (workspaceId: string): string => `trial/${part(workspaceId)}/`;

/** The sessions at the desks of all workspaces. */
export const desk = 'desk/';
export const deskOf = (workspaceId: string): string => `${desk}${part(workspaceId)}/`;

export const messages = (workspaceId: string, sessionId: string): string =>
  `message/${placed(workspaceId, sessionId)}/`;
export const message = (workspaceId: string, sessionId: string, index: number): string =>
  messages(workspaceId, sessionId) + padded(index, 9);

const ofTurns = (kind: string, workspaceId: string, sessionId: string): string =>
  `${kind}/${placed(workspaceId, sessionId)}/`;
export const turns = (workspaceId: string, sessionId: string): string => ofTurns('turn', workspaceId, sessionId);
export const turn = (place: TurnPlace): string => ofTurn(place).turn;
export const flights = 'flight/';
export const flight = (place: TurnPlace): string => ofTurn(place).flight;
export const sessionFlights = (workspaceId: string, sessionId: string): string =>
  ofTurns('flight', workspaceId, sessionId);
export const output = (place: TurnPlace): string => `output/${ofTurn(place).text}/`;
export const outputAt = (place: TurnPlace, position: number): string => output(place) + padded(position, 9);
/** The calls of a turn in flight, each under its place among them. */
export const calls = (place: TurnPlace): string => `call/${ofTurn(place).text}/`;
export const call = (place: TurnPlace, index: number): string => calls(place) + padded(index, 9);

/** The steps of an actor, each under its number. */
export const history = (kind: HistoryKind, workspaceId: string, id: string): string =>
  `history-${kind}/${placed(workspaceId, id)}/`;
export const move = (kind: HistoryKind, workspaceId: string, id: string, seq: number): string =>
  history(kind, workspaceId, id) + padded(seq, 12);

/** The webhooks of all workspaces. */
export const webhooks = 'webhook/';
export const deliveriesIn = (workspaceId: string): string => `delivery/${part(workspaceId)}/`;
/** The deliveries of a webhook, in the order of their ids. */
export const deliveries = (workspaceId: string, webhookId: string): string =>
  `${deliveriesIn(workspaceId)}${part(webhookId)}/`;
export const delivery = (workspaceId: string, webhookId: string, id: string): string =>
  deliveries(workspaceId, webhookId) + part(id);
/** The pending deliveries of all workspaces; each row has the key of its delivery. */
export const dueDeliveries = 'delivery-due/';
export const dueDeliveriesIn = (workspaceId: string): string => `${dueDeliveries}${part(workspaceId)}/`;
/** The pending deliveries of a webhook, in the order in which they are due. */
export const dueOfWebhook = (workspace: string, webhook: string): string => `${dueDeliveries}${workspace}/${webhook}/`;
export const dueDelivery = ({
  workspaceId,
  webhookId,
  id,
  nextAtMs,
}: Pick<WebhookDelivery, 'workspaceId' | 'webhookId' | 'id' | 'nextAtMs'>): string =>
  `${dueOfWebhook(part(workspaceId), part(webhookId))}${padded(nextAtMs!, 15)}/${part(id)}`;
/** First key of a webhook's deliveries that are due after a time. */
export const dueAfter = (ofWebhook: string, nowMs: number): string => `${ofWebhook}${padded(nowMs + 1, 15)}/`;
/** The deliveries that report the end of a turn or a session; each row has the key of its delivery. */
export const deliveriesOf = (workspaceId: string, sessionId: string, sourceId: string): string =>
  `${ofTurns('delivery-of', workspaceId, sessionId)}${part(sourceId)}/`;

/** The open sessions of workspaces with webhooks, in the order of their deadlines. */
export const deadlines = (workspaceId: string): string => `deadline/${part(workspaceId)}/`;
export const deadlineAt = (workspaceId: string, second: number): string =>
  `${deadlines(workspaceId)}${padded(second, 12)}/`;
export const deadline = ({ workspaceId, id, expiresAt }: Pick<Session, 'workspaceId' | 'id' | 'expiresAt'>): string =>
  deadlineAt(workspaceId, expiresAt) + part(id);
/** The workspaces whose open sessions are not all among the deadlines; each row has the key of the next session. */
export const deadlineFills = 'deadline-fill/';
export const deadlineFill = (workspaceId: string): string => `${deadlineFills}${part(workspaceId)}/`;

/** All rows of a session except its own row and its index rows. */
export const belongings = (workspaceId: string, sessionId: string): string[] =>
  ['message', 'turn', 'flight', 'output', 'call', 'history-session', 'delivery-of'].map((kind) =>
    ofTurns(kind, workspaceId, sessionId),
  );

export const memories = (workspaceId: string): string => `memory/${part(workspaceId)}/`;
export const memory = (workspaceId: string, scope: string, key: string): string =>
  `${memories(workspaceId)}${memoryDigest(scope, key)}`;
export const memoryEnds = 'memory-end/';
export const memoryEnd = (untilMs: number, memoryKey: string): string =>
  `${memoryEnds}${padded(untilMs, 15)}/${memoryKey}`;
/** First key of the index for memories that expire after a time. */
export const memoryEndsAfter = (nowMs: number): string => `${memoryEnds}${padded(nowMs + 1, 15)}/`;

export const keyBudgets = (workspaceId: string, keyId: string): string => `budget/${part(workspaceId)}/${part(keyId)}/`;
export const budget = (workspaceId: string, keyId: string, name: BudgetName): string =>
  keyBudgets(workspaceId, keyId) + name;

export const limits = (workspaceId: string): string => `limit/${part(workspaceId)}/`;
export const limit = (workspaceId: string, name: string): string => limits(workspaceId) + part(name);

export const usageOf = (grain: Grain, workspaceId: string): string => `usage-${grain}/${part(workspaceId)}/`;
/** Key ranges of the accounts of these assistants under a prefix; null for all. */
export const accountSpans = (prefix: string, assistantIds: readonly string[] | null): [from: string, to: string][] =>
  assistantIds === null
    ? [[prefix, endOf(prefix)]]
    : [...new Set(assistantIds.map(part))].map((id) => [`${prefix}${id}${withKey}`, endOf(`${prefix}${id}/`)]);
/** The counts of one account in the second or hour that begins at `at`. */
export const usageAt = (grain: Grain, workspaceId: string, name: string, at: number): string =>
  `${usageOf(grain, workspaceId)}${name}/${padded(at, 12)}`;

/** The part of an assistant's release that the steps of sessions and turns read. */
export const release = (workspaceId: string, assistantId: string): string =>
  `release/${part(workspaceId)}/${part(assistantId)}`;
/** The turns of an assistant's candidate: all, and those that failed. */
export const candidateCounts = (workspaceId: string, assistantId: string): string =>
  `candidate-counts/${part(workspaceId)}/${part(assistantId)}`;
/** The counts of an assistant's versions, in the order of their numbers. */
export const versionCounts = (workspaceId: string, assistantId: string): string =>
  `version-counts/${part(workspaceId)}/${part(assistantId)}/`;
export const versionCountsAt = (workspaceId: string, assistantId: string, version: number): string =>
  versionCounts(workspaceId, assistantId) + padded(version, 9);

/** The erasures of all workspaces. */
export const erasures = 'erasure/';
export const erasure = ({ workspaceId, kind, id }: Erasure): string =>
  `${erasures}${part(workspaceId)}/${kind}/${part(id)}`;
/** The sessions whose removal one step did not complete. */
export const erasing = (erased: Erasure): string => `${erasure(erased)}/`;

export const removals = 'removal/';
export const removal = (workspaceId: string): string => removals + part(workspaceId);

/**
 * An import's progress, and the rows that an engine and its store write by themselves: an empty store may have only
 * these.
 */
export const importing = 'import';
/** The course of time that the sweeps have seen. */
export const time = 'time';
export const ownRows: readonly string[] = [
  importing,
  'owner',
  'ping',
  'time',
  'journal-next',
  'journal-open',
  'journal-of',
];

/**
 * All rows of a workspace except its own; its keys come first, so that no caller is authenticated while the rest is
 * removed.
 */
export const holdings = (workspaceId: string): string[] =>
  [
    ...[
      'key',
      'assistant',
      ...kindsOfAssistant,
      'release',
      'candidate-counts',
      'version-counts',
      'alias',
      'credential',
      'credential-name',
      'tool',
      'webhook',
      'budget',
      'session',
      'session-by-assistant',
      'session-by-activity',
      'trial',
      'desk',
      'message',
    ],
    ...[
      'turn',
      'flight',
      'output',
      'call',
      'memory',
      'limit',
      'usage-second',
      'usage-hour',
      'history-session',
      'history-key',
      'history-assistant',
      'erasure',
      'delivery',
      'delivery-due',
      'delivery-of',
      'deadline',
    ],
  ].map((kind) => `${kind}/${part(workspaceId)}/`);
