/** The keys of an embedded store's rows: the kind, then the ids from the widest to the narrowest, then a position. */
import { createHash } from 'node:crypto';
import type { BudgetName, CatalogKind, TurnPlace } from '../../store.ts';
import type { Grain } from '../usage.ts';

const plain = /^(?:[\w-]{1,64}|~[\w-]{43})$/;

/** An id within a key. Whatever else a client may send in an id's place can neither leave its place nor grow without bound. */
export const part = (id: string): string => (plain.test(id) ? id : digest(id));

/** A digest never equals an id of ours: it begins with a character that none has. */
const digest = (text: string): string => `~${createHash('sha256').update(text).digest('base64url')}`;

const padded = (number: number, digits: number): string => String(number).padStart(digits, '0');

/** The first key after all that begin with this prefix, which ends in a slash. */
export const endOf = (prefix: string): string => `${prefix.slice(0, -1)}0`;
/** Just after this key and before any other. */
export const justAfter = (key: string): string => `${key}!`;
export const lastPart = (key: string): string => key.slice(key.lastIndexOf('/') + 1);

export const workspaces = 'workspace/';
export const catalog = (kind: CatalogKind, workspaceId: string): string =>
  kind === 'workspace' ? workspaces : `${kind}/${part(workspaceId)}/`;
export const publicKey = (publicId: string): string => `public-key/${part(publicId)}`;

export const sessions = (workspaceId: string): string => `session/${part(workspaceId)}/`;
export const session = (workspaceId: string, sessionId: string): string => sessions(workspaceId) + part(sessionId);
export const assistantSessions = (workspaceId: string, assistantId: string): string =>
  `session-by-assistant/${part(workspaceId)}/${part(assistantId)}/`;
export const activity = 'session-by-activity/';
export const activeAt = (workspaceId: string, second: number): string => `${activity}${part(workspaceId)}/${padded(second, 12)}/`;

export const messages = (workspaceId: string, sessionId: string): string => `message/${part(workspaceId)}/${part(sessionId)}/`;
export const message = (workspaceId: string, sessionId: string, index: number): string =>
  messages(workspaceId, sessionId) + padded(index, 9);

const ofTurns = (kind: string, workspaceId: string, sessionId: string): string => `${kind}/${part(workspaceId)}/${part(sessionId)}/`;
const ofTurn = (kind: string, place: TurnPlace): string => ofTurns(kind, place.workspaceId, place.sessionId) + part(place.turnId);
export const turn = (place: TurnPlace): string => ofTurn('turn', place);
export const flights = 'flight/';
export const flight = (place: TurnPlace): string => ofTurn('flight', place);
export const sessionFlights = (workspaceId: string, sessionId: string): string => ofTurns('flight', workspaceId, sessionId);
export const output = (place: TurnPlace): string => `${ofTurn('output', place)}/`;
export const outputAt = (place: TurnPlace, position: number): string => output(place) + padded(position, 9);

/** Everything of a session but its own row and its place in the indexes. */
export const belongings = (workspaceId: string, sessionId: string): string[] =>
  ['message', 'turn', 'flight', 'output'].map((kind) => ofTurns(kind, workspaceId, sessionId));

export const memories = (workspaceId: string): string => `memory/${part(workspaceId)}/`;
export const memory = (workspaceId: string, scope: string, key: string): string =>
  `${memories(workspaceId)}${digest(`${scope.length}:${scope}${key}`)}`;
export const memoryEnds = 'memory-end/';
export const memoryEnd = (untilMs: number, memoryKey: string): string => `${memoryEnds}${padded(untilMs, 15)}/${memoryKey}`;
/** Where the memories that last beyond a time begin. */
export const memoryEndsAfter = (nowMs: number): string => `${memoryEnds}${padded(nowMs + 1, 15)}/`;

export const keyBudgets = (workspaceId: string, keyId: string): string => `budget/${part(workspaceId)}/${part(keyId)}/`;
export const budget = (workspaceId: string, keyId: string, name: BudgetName): string => keyBudgets(workspaceId, keyId) + name;

export const usageOf = (grain: Grain, workspaceId: string): string => `usage-${grain}/${part(workspaceId)}/`;
/** The counts of one assistant in the second or hour that begins at `at`. */
export const usageAt = (grain: Grain, workspaceId: string, assistantId: string, at: number): string =>
  `${usageOf(grain, workspaceId)}${part(assistantId)}/${padded(at, 12)}`;

export const removals = 'removal/';
export const removal = (workspaceId: string): string => removals + part(workspaceId);

/** How far an import has come, and what an engine and its store write by themselves: all that an empty store may hold. */
export const importing = 'import';
export const ownRows: readonly string[] = [importing, 'owner', 'ping', 'journal-next', 'journal-of'];

/** Everything of a workspace but its own row; its keys first, so that nobody gets in while the rest goes. */
export const holdings = (workspaceId: string): string[] =>
  [
    ...['key', 'assistant', 'credential', 'budget', 'session', 'session-by-assistant', 'session-by-activity', 'message'],
    ...['turn', 'flight', 'output', 'memory', 'usage-second', 'usage-hour'],
  ].map((kind) => `${kind}/${part(workspaceId)}/`);
