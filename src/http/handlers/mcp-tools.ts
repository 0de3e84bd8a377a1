/** Assistants as the tools of an MCP server (contract 15). */
import type { CallToolResult, ListToolsResult, Tool } from '@modelcontextprotocol/server';
import { Failure } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { aliasKey } from '../../base/link-fields.ts';
import * as wire from '../../wire/wire.ts';
import { ask, type WholeAnswer, type Asker } from '../../conversation/ask.ts';
import { causeByPrincipal } from '../../conversation/principal.ts';
import { listed } from '../../conversation/protocol-adapter.ts';
import { mayUse } from '../../conversation/access-checks.ts';
import type { AssistantActor } from '../../host/assistants.ts';
import type { PrincipalCaller, Request } from '../request.ts';
import type { Assistant } from '../../store/store.ts';
import { assistantsPage } from './assistants.ts';

const prefix = 'ask_';
const listTtlMs = 60_000;

const askArguments = wire.shape(wire.AskArguments, {
  message: { name: 'message_too_long', limit: limits.messageCharactersMax },
});

const inputSchema = wire.AskArguments as unknown as Tool['inputSchema'];
const outputSchema = wire.AskAnswer as unknown as Tool['outputSchema'];

/** A page of the assistants that can be asked; a page may have few of them. */
export async function listTools(
  { caller: { principal }, services }: Request<PrincipalCaller>,
  cursor: string | undefined,
): Promise<ListToolsResult> {
  const { items, next } = await assistantsPage(
    principal,
    { limit: limits.listMax, after: cursor ?? null, order: 'asc' },
    services,
  );
  return {
    tools: (await listed(items, services)).map(toolOf),
    ttlMs: listTtlMs,
    cacheScope: 'private',
    ...(next !== null && { nextCursor: next }),
  };
}

const toolOf = ({ id, alias, name, description }: Assistant): Tool => ({
  name: `${prefix}${aliasKey(alias ?? id)}`,
  title: name,
  ...(description !== null && description !== '' && { description }),
  inputSchema,
  outputSchema,
});

/** The assistant of a tool; null if it is unknown, out of the key's reach or not published. */
export async function reachTool(
  { caller: { principal }, requestId, services }: Request<PrincipalCaller>,
  name: string,
): Promise<AssistantActor | null> {
  if (!name.startsWith(prefix)) return null;
  // A list that a client has kept since before the assistant got an alias still works.
  const assistant = await services.host.assistants.named(principal.workspaceId, name.slice(prefix.length));
  if (assistant === null || !mayUse(principal, assistant.record.id)) return null;
  return services.host.assistants.refusal(assistant, causeByPrincipal(principal, requestId)) === null
    ? assistant
    : null;
}

/** Asks the assistant. A refusal, and a turn that did not complete, are results too. */
export async function callTool(
  { caller: { principal }, requestId, span, services }: Request<PrincipalCaller>,
  assistant: AssistantActor,
  given: unknown,
  asker: Asker,
): Promise<CallToolResult> {
  try {
    const { message, session_id: sessionId = null } = askArguments.parse(given ?? {});
    return resultOf(await ask(principal, { assistant, message, sessionId, requestId, span }, asker, services));
  } catch (error) {
    if (error instanceof Failure) return { content: [{ type: 'text', text: error.message }], isError: true };
    throw error;
  }
}

function resultOf({ sessionId, turnId, status, text, problem }: WholeAnswer): CallToolResult {
  const structuredContent = { session_id: sessionId, turn_id: turnId, status, text };
  return {
    content: [{ type: 'text', text: problem ?? text }],
    structuredContent,
    ...(problem !== null && { isError: true }),
  };
}
