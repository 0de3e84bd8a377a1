/** A tool that remembers every call that reaches it, takes its time, and fails. */
import type { ToolCaller, ToolResult } from '../../src/providers/tool.ts';
import type { Tool } from '../../src/store/store.ts';
import type { Gate } from './clock.ts';
import type { World } from './world.ts';

export const functionName = 'count';

/** The tool's record; it is reached without a signature, as an MCP server is. */
export const simulatedTool = (id: string, workspaceId: string, createdAt: number): Tool => ({
  id, workspaceId, kind: 'mcp', name: 't', url: 'https://tool.example/', credentialId: null, timeoutSeconds: 20, repeatable: false, approval: 'never', show: 'name', callsPerMinute: null,
  functions: [{ name: functionName, description: null, parameters: { type: 'object' }, enabled: true, approval: null, show: null }],
  refreshedAt: createdAt, sealed: null, createdAt, updatedAt: createdAt,
});

/** Sends the calls of one process. */
export function simulatedCaller({ scheduler, history, weather }: World, gate: Gate, host: string): ToolCaller {
  return {
    call: (_tool, _called, { callId, context }, signal) =>
      new Promise<ToolResult>((resolve) => {
        history.reach(host, callId, context.turnId!);
        const result: ToolResult = weather.modelErrs && scheduler.random.chance(0.2) ? { status: 'failed', error: 'refused' } : { status: 'completed', output: `done ${callId}` };
        scheduler.after(weather.modelErrs ? scheduler.random.delay(300, 8000) : 10, () => gate.enter(() => resolve(result)));
        signal.addEventListener('abort', () => resolve({ status: 'cancelled' }), { once: true });
      }),
    list: async () => null,
  };
}
