/**
 * Tools that remember every call that reaches them, take their time, and fail; one may be called again, one waits for
 * approval, and one is run by its caller.
 */
import type { Clock } from '../../src/base/clock.ts';
import type { ToolInvoker, ToolResult } from '../../src/providers/tool.ts';
import { failed, sendWithin, type Sent } from '../../src/providers/tool/sending.ts';
import type { Tool } from '../../src/store/store.ts';
import type { Gate } from './clock.ts';
import type { Random } from './random.ts';
import type { World } from './world.ts';

type Settings = Pick<Tool, 'kind'> & Partial<Pick<Tool, 'repeatable' | 'approval'>>;

/**
 * The settings of the tools, by the name of the one function that each has; those reached are so without a signature,
 * as an MCP server is.
 */
const settings = {
  count: { kind: 'mcp' },
  again: { kind: 'mcp', repeatable: true },
  wait: { kind: 'mcp', approval: 'always' },
  mine: { kind: 'client' },
} as const satisfies Record<string, Settings>;

export type FunctionName = keyof typeof settings;
export const functionNames = Object.keys(settings) as FunctionName[];

/** Number of times that a call may reach its tool. */
export const reachesMax = (name: string): number => (name === 'again' ? 3 : name === 'mine' ? 0 : 1);

export const simulatedTool = (name: FunctionName, id: string, workspaceId: string, createdAt: number): Tool => ({
  id,
  workspaceId,
  name,
  credentialId: null,
  timeoutSeconds: 20,
  repeatable: false,
  approval: 'never',
  show: 'name',
  callsPerMinute: null,
  functions: [{ name, description: null, parameters: { type: 'object' }, enabled: true, approval: null, show: null }],
  refreshedAt: createdAt,
  sealed: null,
  createdAt,
  updatedAt: createdAt,
  ...settings[name],
  url: name === 'mine' ? null : 'https://tool.example/',
});

/** Sends the calls of one process, again where the product does. */
export function simulatedInvoker(
  { scheduler, history, weather }: World,
  gate: Gate,
  clock: Clock,
  host: string,
): ToolInvoker {
  const { random } = scheduler;
  return {
    invoke: (tool, { name }, { callId, context, stands }, signal) =>
      sendWithin(clock, tool, signal, (end) => {
        const sent = weather.modelErrs ? drawn(random, callId) : done(callId);
        const answer = (isPermitted: boolean): void => {
          if (!isPermitted) return end(unsent);
          if (sent.again !== 'unsent') history.reach({ host, callId, turnId: context.turnId!, name });
          scheduler.after(weather.modelErrs ? random.delay(300, 8000) : 10, () => gate.enter(() => end(sent)));
        };
        void stands!().then(
          (isPermitted) => gate.enter(() => answer(isPermitted && !signal.aborted)),
          () => answer(false),
        );
        return () => {};
      }),
    list: async () => ({ step: 'connect', error: 'unreachable' }),
    close: async () => {},
  };
}

/** A request that was not written. */
const unsent: Sent = { result: failed('unreachable', { didNotAct: true }), again: 'unsent' };

const done = (callId: string): Sent => ({
  result: { status: 'completed', output: `done ${callId}` } satisfies ToolResult,
  again: 'never',
});

/** The end of one try: its answer, a refusal, one that passes, an answer that is lost, or no connection at all. */
const drawn = (random: Random, callId: string): Sent =>
  random.chance(0.6)
    ? done(callId)
    : random.pick<Sent>([
        { result: failed('refused'), again: 'never' },
        { result: failed('refused'), again: 'repeatable' },
        { result: failed('unreachable'), again: 'repeatable' },
        { result: failed('unreachable'), again: 'unsent' },
      ]);
