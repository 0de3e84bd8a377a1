/** Calls an assistant's model for a turn: opens its credential and cuts the history to the budget. */
import { limits } from '../limits.ts';
import { cutHistory } from '../model/history.ts';
import { openCredential } from './credential.ts';
import type { Services } from '../services.ts';
import type { Assistant, Message } from '../store.ts';
import type { TurnRunner } from '../turn/runner.ts';

/** Never throws: if the model cannot be called, the turn is refused, and the client gets `assistant_unavailable`. */
export async function callModel(runner: TurnRunner, assistant: Assistant, history: readonly Message[], services: Services): Promise<void> {
  const { provider, name, systemPrompt, temperature, outputTokensMax } = assistant.model;
  const model = services.models.get(provider);
  if (model === undefined) return runner.refuse('credential');
  try {
    const opened = model.needsCredential ? openCredential(assistant.workspaceId, 'model', assistant.model, services) : { baseUrl: null, apiKey: null };
    const access = opened instanceof Promise ? await opened : opened;
    if (access === null) return runner.refuse('credential');
    const messages = cutHistory(history, systemPrompt, limits.historyTokensMax);
    const request = { name, systemPrompt, messages, temperature, outputTokensMax, assistantName: assistant.name, ...access };
    runner.start((sink) => model.start(request, sink));
  } catch (error) {
    // A fault of ours, such as a store that is away, must not be reported as the assistant's.
    runner.fail(error);
  }
}
