/** A test that is made of a session (contract 21): its messages, its calls and their outputs. */
import { limits } from '../../base/limits.ts';
import { functionName } from '../../providers/tool/schema.ts';
import type { Message, ScriptedResult, Session, Store, TestExpectation, ToolCall } from '../../store/store.ts';
import type { TestScript } from './tests.ts';

/** A message of a user with the reply to it. */
export interface Exchange {
  readonly message: string;
  /** Null without one. */
  readonly reply: Message | null;
}

/** Bytes of the JSON of a test, as many as of a request that describes one. */
const testBytesMax = limits.bodyBytesMax;

/** The exchanges of a session, oldest first: a bounded number. */
export async function exchangesOf(
  { workspaceId, id }: Pick<Session, 'workspaceId' | 'id'>,
  most: number,
  store: Pick<Store, 'sessions'>,
): Promise<Exchange[]> {
  const exchanges: { message: string; reply: Message | null }[] = [];
  for (let after: string | null = null; ;) {
    const page = await store.sessions.messages(workspaceId, id, { limit: limits.listMax, after, order: 'asc' });
    for (const message of page.items) {
      if (message.role === 'user' && exchanges.push({ message: message.content, reply: null }) > most)
        return exchanges.slice(0, most);
      const last = exchanges.at(-1);
      if (message.role === 'assistant' && last?.reply === null) last.reply = message;
    }
    if (page.next === null) return exchanges;
    after = page.next;
  }
}

/** The result of a call as a test scripts it. */
export const recordedResult = ({ status, output, refusalText }: ToolCall): ScriptedResult =>
  status === 'completed'
    ? { status: 'completed', output: output ?? '' }
    : { status: 'failed', output: refusalText ?? '' };

/** The script of a session; null if it has no message of a user, or is too long for a test. */
export async function scriptOfSession(
  session: Session,
  store: Pick<Store, 'sessions'>,
): Promise<Omit<TestScript, 'repeat'> | null> {
  const exchanges = await exchangesOf(session, limits.testStepsMax, store);
  const toolResults = new Map<string, ScriptedResult[]>();
  const steps = exchanges.map(({ message, reply }) => {
    const calls = (reply?.toolCalls ?? []).filter(({ name }) => functionName.test(name));
    for (const call of calls) {
      const results = toolResults.get(call.name) ?? [];
      if (results.length < limits.testResultsMax) toolResults.set(call.name, [...results, recordedResult(call)]);
    }
    return { message: message.slice(0, limits.messageCharactersMax), expect: expectationOf(calls) };
  });
  const { visitor, metadata } = session;
  const script = {
    name: `Session ${session.id}`,
    visitor,
    metadata,
    steps,
    toolResults: Object.fromEntries([...toolResults].slice(0, limits.toolFunctionsMax)),
  };
  const isFitting = steps.length > 0 && Buffer.byteLength(JSON.stringify(script)) <= testBytesMax;
  return isFitting ? script : null;
}

function expectationOf(calls: readonly ToolCall[]): TestExpectation {
  if (calls.length === 0) return {};
  const expected = calls.slice(0, limits.testExpectationsMax);
  return { calls: expected.map(({ name, arguments: input }) => ({ name, ...(input && { arguments: input }) })) };
}
