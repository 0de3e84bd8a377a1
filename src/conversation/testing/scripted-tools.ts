/**
 * The tools of a run (contract 21): they answer calls from what a test scripts, and have no transport. No tool can be
 * called with them.
 */
import { isDeepStrictEqual } from 'node:util';
import type { AssistantServices } from '../../assistant/services.ts';
import type { OfferedFunction, ToolInvocation, ToolResult } from '../../providers/tool.ts';
import type { AnsweringAssistant } from '../../host/versions.ts';
import type { ScriptedResult } from '../../store/store.ts';
import { recordedResult } from './from-session.ts';
import type { ToolCall } from '../../store/store.ts';

type Arguments = Readonly<Record<string, unknown>>;

/** Returns the next result of a function; null without one. */
export type NextResult = (name: string, input: Arguments) => ScriptedResult | null;

/** The results of a test: a function gets its results in order, and the last one repeats. */
export function resultsInOrder(toolResults: Readonly<Record<string, readonly ScriptedResult[]>>): NextResult {
  const taken = new Map<string, number>();
  return (name) => {
    const results = Object.hasOwn(toolResults, name) ? toolResults[name]! : [];
    const at = taken.get(name) ?? 0;
    taken.set(name, at + 1);
    return results[at] ?? results.at(-1) ?? null;
  };
}

/** The recorded results of a stored conversation: by function and arguments, the last one repeats. */
export function resultsByArguments(recorded: readonly ToolCall[]): NextResult {
  const left = [...recorded];
  return (name, input) => {
    const isSuch = (call: ToolCall): boolean => call.name === name && isDeepStrictEqual(call.arguments ?? {}, input);
    const at = left.findIndex(isSuch);
    if (at < 0) return null;
    const call = left[at]!;
    if (left.some((other, index) => index > at && isSuch(other))) left.splice(at, 1);
    return recordedResult(call);
  };
}

export class ScriptedTools {
  readonly #next: NextResult;

  constructor(next: NextResult) {
    this.#next = next;
  }

  async admit(): Promise<null> {
    return null;
  }

  /** A call of a run counts in no metric. */
  noteUnsent(): void {}

  /** Answers a call; without a result it is refused. */
  async call({ name }: OfferedFunction, { arguments: input }: ToolInvocation): Promise<ToolResult> {
    const result = this.#next(name, input);
    if (result === null) return { status: 'failed', error: 'refused', didNotAct: true };
    const { status, output } = result;
    if (status === 'completed') return { status, output };
    return { status, error: 'refused', ...(output !== '' && { refusalText: output }) };
  }
}

/**
 * The services of an assistant in a run: with these tools alone. Functions that wait for an approval or for the caller
 * are answered like all others, and no quarantine of a function is stored.
 */
export const scriptedServices = (services: AssistantServices, next: NextResult): AssistantServices => ({
  clock: services.clock,
  ids: services.ids,
  log: services.log,
  models: services.models,
  modelHealth: services.modelHealth,
  metrics: services.metrics,
  vault: services.vault,
  tools: new ScriptedTools(next),
  host: {
    credentials: services.host.credentials,
    // Nobody is asked for in a run.
    attendances: { askOf: async () => {} },
    tools: {
      functions: async (assistant: AnsweringAssistant) =>
        (await services.host.tools.functions(assistant)).map((offered) => ({
          ...offered,
          kind: offered.kind === 'client' ? 'http' : offered.kind,
          approval: 'never',
        })),
      change: async () => null,
    },
  },
});
