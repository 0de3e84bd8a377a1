/** Messages, turns, remembered requests and usage, held to what a turn leaves in the store. */
import { Type } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { limits } from '../../../base/limits.ts';
import type { DumpRow } from '../../../store/dump.ts';
import type { Message, ToolCall, Turn } from '../../../store/records.ts';
import { hourSeconds } from '../../../store/usage.ts';
import { results } from '../../../turn/ports.ts';

/** The path of the first field that no turn could have left so, or null. */
export function conversationProblem(row: DumpRow): string | null {
  switch (row.type) {
    case 'message':
      return messageProblem(row.record);
    case 'turn':
      return turnProblem(row);
    case 'memory':
      return memoryProblem(row.record);
    case 'usage':
      return row.grain === 'hour' && row.start % hourSeconds !== 0 ? 'start' : null;
    default:
      return null;
  }
}

/** The ends of turns that the code knows, by all that is stored of one. */
const ends: ReadonlySet<string> = new Set(Object.values(results).map(endOf));

/** The codes that the message of a failed turn may have. */
const errorCodes: ReadonlySet<string | null> = new Set(Object.values(results).map(({ errorCode }) => errorCode));

/** A client of another protocol brings messages as long as its body may be. */
const contentMax = limits.frontBodyBytesMax;

function messageProblem({ role, status, turnId, content, errorCode, toolCalls = [] }: Message): string | null {
  if (!content.isWellFormed() || content.length > contentMax) return 'record.content';
  if (!errorCodes.has(errorCode)) return 'record.errorCode';
  if (status === 'streaming' && (role !== 'assistant' || turnId === null)) return 'record.status';
  return callsProblem('record.toolCalls', toolCalls);
}

function callsProblem(path: string, calls: readonly ToolCall[]): string | null {
  const wrong = calls.findIndex(({ name, output, refusalText }) =>
    [name, output, refusalText].some((text) => text?.isWellFormed() === false),
  );
  return wrong < 0 ? null : `${path}[${wrong}]`;
}

function turnProblem({ record, finished, flight }: DumpRow & { type: 'turn' }): string | null {
  const runs = record.status === 'streaming';
  if (runs !== (flight !== null) || runs !== (finished === null)) return 'flight';
  if (runs !== (record.endedAt === null)) return 'record.endedAt';
  return isKnownEnd(record) ? callsProblem('flight.calls', flight?.calls ?? []) : 'record.stopReason';
}

const isKnownEnd = (turn: Turn): boolean =>
  turn.status === 'streaming' ? turn.stopReason === null && turn.errorCode === null : ends.has(endOf(turn));

function endOf({ status, stopReason, errorCode }: Pick<Turn, 'status' | 'stopReason' | 'errorCode'>): string {
  return `${status} ${stopReason} ${errorCode}`;
}

/** Facts of a response, which are kept in place of a digest (contract 14). */
const Facts = Type.Object({
  sessionId: Type.String({ minLength: 1 }),
  model: Type.String(),
  stored: Type.Boolean(),
  previous: Type.Union([Type.String(), Type.Null()]),
  echoed: Type.Optional(Type.Object({})),
});
let facts: Validator | undefined;

function memoryProblem({ scope, bodyDigest }: (DumpRow & { type: 'memory' })['record']): string | null {
  if (scope !== 'responses') return null;
  facts ??= Compile(Facts);
  try {
    return facts.Check(JSON.parse(bodyDigest)) ? null : 'record.bodyDigest';
  } catch {
    return 'record.bodyDigest';
  }
}
