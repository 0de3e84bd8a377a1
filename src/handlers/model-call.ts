/** Calls an assistant's model for a turn: its credential opened, its history cut to the budget. */
import { limits } from '../limits.ts';
import { cutHistory } from '../model/history.ts';
import type { Services } from '../services.ts';
import type { Assistant, Message } from '../store.ts';
import type { TurnRunner } from '../turn/runner.ts';

/** Never throws: a model that cannot be called refuses the turn, and the client hears `assistant_unavailable`. */
export async function callModel(runner: TurnRunner, assistant: Assistant, history: readonly Message[], services: Services): Promise<void> {
  const { provider, name, systemPrompt, temperature, outputTokensMax } = assistant.model;
  const model = services.models.get(provider);
  if (model === undefined) return runner.refuse('credential');
  try {
    const access = model.needsCredential ? await openCredential(assistant, services) : { baseUrl: null, apiKey: null };
    if (access === null) return runner.refuse('credential');
    const messages = cutHistory(history, systemPrompt, limits.historyTokensMax);
    const request = { name, systemPrompt, messages, temperature, outputTokensMax, assistantName: assistant.name, ...access };
    runner.start((sink) => model.start(request, sink));
  } catch (error) {
    // A fault of ours, such as a store that is away, is no verdict on the assistant.
    services.log.error({ err: error, assistant_id: assistant.id }, 'model could not be called');
    void runner.stop('ours');
  }
}

async function openCredential(assistant: Assistant, { store, vault }: Services): Promise<{ baseUrl: string | null; apiKey: string } | null> {
  const { credentialId, provider } = assistant.model;
  const found = credentialId === null ? null : await store.catalog.read('credential', assistant.workspaceId, credentialId);
  if (found === null || found.record.provider !== provider) return null;
  const { id, workspaceId, baseUrl, sealed } = found.record;
  const apiKey = vault.open(workspaceId, id, sealed);
  return apiKey === null ? null : { baseUrl, apiKey };
}
