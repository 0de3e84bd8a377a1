/**
 * The arguments of each step: their names in the order in which they are sent. The scripts read them by these names
 * (`workspaceId` as `workspace_id`), callers pass them by these names, and the head of each Lua file lists them. A
 * step's one key is the root that its keys begin with.
 */
import { unitsPerRequest } from '../../../machines/budget.ts';
import { limits } from '../../base/limits.ts';
import { bucketFullMs } from '../dump.ts';
import { movesKept } from '../moves.ts';
import type { Released, StopRequest } from '../store.ts';
import type { Argument, Named, RedisReply } from './reply.ts';

/** A session after the step: `sessionFields`. */
const session = ['record', 'active', 'expires', 'state'] as const;
/** The basis of a decision: `basisFields`. */
const basis = ['version', 'mark'] as const;
/** A message that no longer changes: `messageFields`. */
const message = ['message', 'content', 'points'] as const;
/** The memory of a request: `memoryFields`. */
const memory = ['memory', 'memoryRecord', 'result', 'lasts'] as const;
/** The memory that a turn is found by: `foundFields`. */
const found = ['found', 'foundRecord', 'foundResult', 'foundLasts'] as const;
/** The row in the audit: `auditFields`. */
const audit = ['auditId', 'audit'] as const;
/** The usage that a turn adds: `countedFields`. */
const counted = ['account', 'ended', 'failed', 'input', 'output', 'calls', 'cached'] as const;

/** The version that a turn is counted for: `versionFields`. */
const ofVersion = ['assistant', 'number'] as const;
/** The release of an assistant: `releaseFields`. */
const release = [
  'revision',
  'since',
  'candidate',
  'percent',
  'after',
  'halted',
  'haltedRecord',
  'head',
  'tail',
] as const;

/** The event of a session that ends: `endingFields`. */
const ending = ['deliveryHead', 'eventAt', 'sessionEvent'] as const;

/** A last name with dots takes any number of arguments; the script finds the first of them at `NAME_at`. */
export const steps = {
  'create-session': [
    'session',
    ...session,
    'assistant',
    'account',
    'created',
    ...message,
    ...memory,
    'replaces',
    'trials',
    'uncounted',
    'revision',
    'number',
    'run',
    'move',
    ...audit,
    '...earlier',
  ],
  'save-session': ['session', ...basis, ...session, 'write', 'move', ...audit, ...ending, '...settled'],
  'attend-session': [
    'session',
    ...basis,
    ...session,
    'desk',
    'write',
    ...memory,
    'first',
    'amends',
    'silences',
    'lease',
    'channel',
    'notice',
    'account',
    'countedAt',
    'people',
    'handovers',
    ...audit,
    'deliveryHead',
    'eventAt',
    'event',
    'source',
    'messages',
    '...rest',
  ],
  'list-desk': ['order', 'after', 'count'],
  'charge-session': ['session', ...basis, ...session, 'write', '...asked'],
  'await-session': ['session', 'channel', 'notice'],
  'discard-session': ['session', ...basis, 'account', 'created', 'memory', 'result', 'assistant', 'number'],
  'list-sessions': ['order', 'after', 'wanted', 'looks', 'since', 'status', 'time', '...indexes'],
  'list-messages': ['session', 'order', 'after', 'count'],
  'read-recent-messages': ['session', 'before', 'charactersMax', 'messagesMax'],
  'read-output': ['session', 'turn'],
  'read-calls': ['session', 'turn'],
  'read-output-after': ['session', 'turn', 'position', 'channel', 'notice'],
  'read-memory': ['memory'],

  'begin-turn': [
    'session',
    'turn',
    'owner',
    ...basis,
    'lease',
    'slots',
    'slotsMax',
    ...session,
    'turnRecord',
    'index',
    ...message,
    'reply',
    ...memory,
    ...found,
    'short',
    'channel',
    'released',
    'amends',
    'move',
    ...audit,
    'assistant',
    'revision',
    '...asked',
  ],
  'append-output': ['session', 'turn', 'epoch', 'owner', 'position', 'count', 'text', 'lease'],
  'renew-turn': ['session', 'turn', 'epoch', 'owner', 'lease'],
  'release-output': ['session', 'turn', 'epoch', 'owner', 'points'],
  'step-turn': ['session', 'turn', 'epoch', 'owner', 'from', 'amends', 'ended', 'open', '...calls'],
  'request-stop': ['session', 'turn', 'reason', 'lease', 'channel', 'workspaceId', 'sessionId', 'turnId', ...audit],
  'finish-turn': [
    'session',
    'turn',
    ...basis,
    'epoch',
    'owner',
    ...session,
    'turnRecord',
    'message',
    'position',
    'count',
    'text',
    'cut',
    ...counted,
    ...ofVersion,
    'packedTime',
    'channel',
    'amends',
    'move',
    ...audit,
    'deliveryHead',
    'eventAt',
    'turnEvent',
    'sessionEvent',
    '...settled',
  ],
  'withdraw-turn': [
    'session',
    'turn',
    ...basis,
    'epoch',
    'owner',
    ...session,
    'first',
    'index',
    'turnId',
    'given',
    ...counted,
    ...ofVersion,
    'packedTime',
    'channel',
    'amends',
    'move',
    ...ending,
    '...settled',
  ],
  'claim-turn': ['session', 'turn'],
  'rate-turn': ['session', 'turn', 'rating', 'feedback', 'account', 'ended', ...ofVersion],
  'take-over-turn': ['session', 'turn', 'owner', 'lease', 'token', 'latest'],
  'find-orphans': ['limit'],
  'count-slots': [],

  'create-record': [
    'kind',
    'id',
    'record',
    'channel',
    'workspaceId',
    'recordId',
    'alias',
    'most',
    'begin',
    'move',
    'wants',
    ...audit,
    '...needed',
  ],
  'replace-record': [
    'kind',
    'id',
    'record',
    'channel',
    'workspaceId',
    'recordId',
    'version',
    'write',
    'alias',
    'kept',
    'move',
    'wants',
    ...audit,
    'madeId',
    'made',
    ...release,
    'notice',
    '...dropped',
  ],
  'remove-record': ['kind', 'id', 'channel', 'workspaceId', 'recordId', 'version', 'write', ...audit],
  'list-records': ['kind', 'order', 'after', 'count'],
  'claim-slug': ['workspaceId', 'id', 'token', 'stale'],
  'release-slug': ['id', 'token'],
  'take-budgets': ['id', 'lane', 'number', 'count', 'seen', 'waited', '...asked'],
  'read-budgets': ['...ids'],
  'take-limits': ['write', '...asked'],
  'read-limits': ['...looked'],
  'count-usage': ['write', 'account', 'countedAt', 'speech', 'seconds'],
  'hold-budget': ['id', 'lane', 'number', 'budget', 'level', 'since'],

  register: ['list', 'workspace'],
  'list-registered': ['list', 'stale'],
  unregister: ['list', 'workspace', 'stale'],
  'find-registered': ['list', '...workspaces'],
  'find-aged-sessions': ['retention', 'latest', 'offset', 'count'],
  'sweep-session': ['session', 'retention', 'latest'],
  'sweep-memories': ['limit', 'latest'],
  'remove-holdings': ['limit', 'channel', 'workspaceId'],
  'begin-erasure': ['erasure', 'id', 'write', ...audit],
  'erase-session': ['session', 'erasure', 'turns', 'feedback', 'channel', 'workspaceId', 'sessionId'],
  'erase-record': ['kind', 'id', 'erasure'],
  'forget-memories': ['...memories'],
  'free-seats': ['...seats'],
  'finish-erasure': ['erasure', 'write', 'channel', 'workspaceId', 'kind', 'id'],
  'claim-deliveries': ['owner', 'write', 'nowMs', 'untilMs', 'limit', '...skipped'],
  'settle-delivery': ['webhook', 'id', 'owner', 'write', 'state', 'next'],
  'fail-deliveries': ['webhook', 'limit'],
  'list-deliveries': ['webhook'],
  'retry-delivery': ['webhook', 'id', 'nowMs'],
  'examine-deliveries': ['webhook', 'after', 'count'],
  'find-overdue': ['time', 'limit', 'count'],
  'read-time': [],
  'note-time': ['correction', 'gap', 'trust'],
  'read-installation': ['database', 'id'],
  'put-load': ['row', 'start', 'kept'],

  'dump-session': ['session', 'count'],
  'load-record': ['kind', 'id', 'record', 'version', 'alias', 'wants'],
  'load-release': ['assistant', ...release, 'notice'],
  'load-session': ['session', 'version', ...session, 'assistant', 'withdrawn', 'trial', 'desk'],
  'load-message': ['session', 'index', 'record', 'content', 'points', 'turn'],
  'load-turn': [
    'session',
    'turn',
    'record',
    'index',
    'begun',
    'finished',
    'epoch',
    'owner',
    'stop',
    'memory',
    'released',
    'feedback',
    '...calls',
  ],
  'load-delivery': ['webhook', 'id', 'event', 'state', 'next', 'session', 'source'],
  'load-memory': ['memory', 'record', 'result', 'ends'],
  'load-history': ['kind', 'id', '...moves'],
  'load-usage': ['account', 'hour', 'second', 'counts'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type ScriptName = keyof typeof steps;

type NameOf<S extends ScriptName> = (typeof steps)[S][number];
type Rest<Name> = Name extends `...${infer Last}` ? Last : never;

/** The arguments of a step by their names. */
export type Given<S extends ScriptName> = { readonly [Name in Exclude<NameOf<S>, `...${string}`>]: Argument } & {
  readonly [Name in Rest<NameOf<S>>]: readonly Argument[];
};

/** The output ends before a position that the step names. */
export type Gap = [Named<'hole'>, end: number];
type Stored<T extends string> = [Named<T>, stop?: Named<StopRequest> | null];
type Ended = [Named<'finished'>, version: number] | [Named<'lost'>] | [Named<'fenced'>];
type Remembered = [Named<'remembered'>, record: Buffer];
type Refusing = [Named<'limited'>, ...answers: number[]];

/**
 * The answers of scripts, as the header of each Lua file describes them; a step that is not listed may answer with any
 * reply.
 */
interface Answers {
  'create-session': [Named<'created'>] | [Named<'full'>] | [Named<'outdated'>] | [Named<'gone'>] | Remembered;
  'charge-session': [Named<'charged'>, version: number] | [Named<'lost'>] | Refusing;
  'save-session': number | null;
  'attend-session': [Named<'stored'>, version: number] | [Named<'lost'>] | Remembered | Refusing;
  'list-desk': Buffer[];
  'await-session': [record: Buffer, version: Buffer] | null;
  'list-sessions': [bound: Buffer | null, records: Buffer[]];
  'begin-turn':
    | [Named<'begun'>, version: number, epoch: number]
    | [Named<'lost'>]
    | [Named<'full'>]
    | [Named<'outdated'>]
    | Remembered
    | Refusing;
  'append-output': Stored<'stored' | 'fenced'> | Gap;
  'step-turn': Stored<'stored' | 'fenced'> | Gap;
  'renew-turn': Stored<'renewed' | 'fenced'>;
  'release-output': Named<Released>;
  'finish-turn': Ended | Gap;
  'withdraw-turn': Ended;
  'take-over-turn': [epoch: number, stop: Named<StopRequest> | null] | null;
  'read-calls': Buffer[];
  'read-output-after': [turn: Buffer, points: number, bytes: Buffer, calls?: Buffer[]] | null;
  'count-slots': number;
  'list-records': Buffer[];
  'replace-record': number | null;
  'remove-record': Buffer | null;
  'claim-slug': Buffer[] | null;
  'take-limits': number[];
  'read-limits': number[];
  'list-registered': [fresh: Buffer[], stale: Buffer[]];
  'find-aged-sessions': [rows: number, ids: Buffer[]];
  'claim-deliveries': [webhooks: number, next: Buffer | null, deliveries: Buffer[]];
  'find-registered': Buffer[];
  'fail-deliveries': number;
  'list-deliveries': Buffer[];
  'retry-delivery': [event: Buffer, state: Buffer] | null;
  'examine-deliveries': [ids: number, rows: (Buffer | null)[]];
  'find-overdue': [filling: number, sessions: Buffer[]];
  'read-time': number;
}

/** The answer of a step. */
export type Answer<S extends ScriptName> = S extends keyof Answers ? Answers[S] : RedisReply;

/** The names of a step's single arguments, and the name that takes the rest. */
const sent = Object.fromEntries(
  Object.entries<readonly string[]>(steps).map(([step, names]) => {
    const rest = names.find((name) => name.startsWith('...'));
    return [step, { names: names.filter((name) => name !== rest), rest: rest?.slice(3) ?? null }];
  }),
) as unknown as Readonly<Record<ScriptName, { readonly names: readonly string[]; readonly rest: string | null }>>;

/** The arguments of a step in their order. */
export function argumentsOf<S extends ScriptName>(step: S, given: Given<S>): Argument[] {
  const { names, rest } = sent[step];
  const values = names.map((name) => (given as Readonly<Record<string, Argument>>)[name]!);
  return rest === null ? values : [...values, ...(given as Readonly<Record<string, readonly Argument[]>>)[rest]!];
}

/**
 * Steps whose calls are sent as one argument, packed, and sent together if they come at the same moment: node-redis
 * writes each argument of bytes by itself, Redis makes an object of each argument, and a call costs more than most of
 * them ask for.
 */
export const gatheredSteps: ReadonlySet<ScriptName> = new Set([
  'create-session',
  'save-session',
  'begin-turn',
  'append-output',
  'finish-turn',
  'withdraw-turn',
]);

/** The lines around the helpers and around a step's own code that run it for each call. */
export const gatheredLines = {
  first: 'local calls, answers = cmsgpack.unpack(ARGV[1]), {}\nlocal ARGV\n',
  before: 'local function step()\n',
  after: 'end\nfor index, call in ipairs(calls) do\n  ARGV = call\n  answers[index] = step()\nend\nreturn answers\n',
} as const;

/**
 * A lease that ends later than this from now was given before the clock was set back. Longer than `leaseMs`, since a
 * step of a few seconds is no reason to drop one.
 */
const leaseMsMax = 90_000;

/** Numbers that the scripts share with the TypeScript code. */
const constants: Readonly<Record<string, number>> = {
  BUDGET_UNIT: unitsPerRequest,
  BUDGET_FULL_MS: bucketFullMs,
  STEP_KEPT_MS: limits.redisStepKeptMs,
  MOVES_KEPT: movesKept,
  LEASE_MS: limits.leaseMs,
  LEASE_MS_MAX: leaseMsMax,
  DELIVERIES_KEPT: limits.webhookDeliveriesMax,
};

/** The constants' names in every script. */
export const constantNames = Object.keys(constants);

/** The lines before the helpers: the constants, and the root from which each key is built. */
export const commonLines = `${Object.entries(constants)
  .map(([name, value]) => `local ${name} = ${value}\n`)
  .join('')}local root = KEYS[1]\n`;

/** An argument's name in the scripts. */
export const luaName = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The lines before a step's own code: its arguments under their names. */
export function argumentLines(step: ScriptName): string {
  const { names, rest } = sent[step];
  const line = names.length === 0 ? '' : `local ${names.map(luaName).join(', ')} = unpack(ARGV, 1, ${names.length})\n`;
  return rest === null ? line : `${line}local ${luaName(rest)}_at = ${names.length + 1}\n`;
}
