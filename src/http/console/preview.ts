/** `…/assistants/{id}/preview`: prompt and greeting as a session gets them (contract 19). */
import { greetingFor, promptFor } from '../../assistant/texts.ts';
import { Failure } from '../../base/errors.ts';
import type { PreviewAssistantBody } from '../../wire/wire.ts';
import { readSession } from '../../conversation/access-checks.ts';
import type { Reply } from '../request.ts';
import { merged } from './assistants.ts';
import { nowSeconds, reachPathAssistant, type ConsoleRequest } from './common.ts';

/** Fills texts that are not saved yet, too. The turn of the preview begins now. */
export async function previewAssistant(request: ConsoleRequest<unknown, PreviewAssistantBody>): Promise<Reply> {
  const { body, services } = request;
  const { record } = await reachPathAssistant(request);
  const { session_id: sessionId, ...changes } = body;
  const at = nowSeconds(request);
  const assistant = merged(record, changes, at);
  const session = await readSession(record.workspaceId, sessionId, services);
  if (session.assistantId !== record.id) throw new Failure('session_not_found');
  const json = {
    object: 'assistant_preview',
    session_id: session.id,
    system_prompt: promptFor(assistant, session, at),
    greeting: greetingFor(assistant, session),
  };
  return { status: 200, json };
}
