/** Helpers for the tests of conversations: assistants with a scripted model, and short ways to talk to them. */
import type { ServerResponse } from 'node:http';
import { inspect } from 'node:util';
import type { Test } from 'tap';
import { data, delta, done, eventStream, provider, type Provider } from '../providers/model/provider.ts';
import { patient } from '../run/speed.mjs';
import { must, type Answer, type Ask, type House, type Stream } from './house.ts';

/** An assistant on the synthetic provider, whose model's name says what it does. */
export const synthetic = (house: House, name: string, fields: object = {}): Promise<any> =>
  house.assistant({ model: { provider: 'synthetic', name }, ...fields });

export const chatPath = (sessionId: string): string => `/sessions/${sessionId}/chat`;
export const turnPath = (sessionId: string, turnId: string): string => `/sessions/${sessionId}/turns/${turnId}`;

/** Sends a message and has the stream of the reply. */
export const say = (house: House, sessionId: string, message = 'Hello', ask: Ask = {}): Promise<Stream> =>
  house.stream(chatPath(sessionId), { body: { message }, ...ask });

/** Sends a message that is answered with a failure. */
export const sayInVain = (house: House, sessionId: string, message = 'Hello', ask: Ask = {}): Promise<Answer> =>
  house.ask(chatPath(sessionId), { body: { message }, ...ask });

/** Sends a message on a new session. */
export async function begin(house: House, assistantId: string, ask: Ask = {}): Promise<{ id: string; stream: Stream }> {
  const { id } = await house.session(assistantId);
  return { id, stream: await say(house, id, 'Hello', ask) };
}

/** The house as it talks in a trial of the console, which runs on the draft: a change reaches its next turn. */
export const inTrials = (house: House): House => ({
  ...house,
  ask: (path, { key: _, ...options } = {}) => house.console(`/workspaces/${house.workspaceId}${path}`, options),
  stream: (path, options) =>
    house.stream(`/console/api/workspaces/${house.workspaceId}${path}`, { ...options, key: house.operatorToken }),
  session: (assistantId) =>
    must(
      () => house.console(`/workspaces/${house.workspaceId}/assistants/${assistantId}/trials`, { method: 'POST' }),
      201,
    ),
});

export const transcriptOf = async (house: House, sessionId: string): Promise<any[]> =>
  (await house.ask(`/sessions/${sessionId}/transcript?limit=100`)).json.data;

export const sessionOf = async (house: House, sessionId: string): Promise<any> =>
  (await house.ask(`/sessions/${sessionId}`)).json;

type Nothing = null | undefined | false;

/**
 * Polls until the answer is there; throws after the time limit with the question and the last answer. It pauses, since
 * the server needs the CPU.
 */
export async function until<T>(ask: () => Promise<T | Nothing> | T | Nothing, seconds = patient(100)): Promise<T> {
  const lastAt = performance.now() + seconds * 1000;
  for (;;) {
    const last = performance.now() >= lastAt;
    const answer = await ask();
    if (answer) return answer;
    if (last) throw new Error(`not within ${seconds} s: the last answer was ${inspect(answer)} to ${String(ask)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The turn that is in flight on a session, as soon as there is one. */
export const activeTurn = (house: House, sessionId: string): Promise<string> =>
  until(async () => (await sessionOf(house, sessionId)).active_turn_id as string | null);

export const abort = (house: House, sessionId: string, turnId: string, ask: Ask = {}): Promise<Answer> =>
  house.ask(`${turnPath(sessionId, turnId)}/abort`, { method: 'POST', ...ask });

export const end = (house: House, sessionId: string): Promise<Answer> =>
  house.ask(`/sessions/${sessionId}/end`, { method: 'POST' });

/** A failure in the one shape (contract 2). */
export function refused(t: Test, answer: Answer, status: number, code: string, type?: string): void {
  const types: Record<number, string> = {
    400: 'invalid_request',
    401: 'authentication_error',
    403: 'permission_error',
    404: 'not_found',
    409: 'conflict',
    422: 'invalid_request',
    429: 'rate_limit_error',
    500: 'api_error',
    503: 'service_unavailable',
  };
  t.equal(answer.status, status, `${code}: status`);
  t.same(Object.keys(answer.json ?? {}).sort(), ['error', 'request_id'], `${code}: the one shape`);
  t.match(answer.json?.error, { code, type: type ?? types[status] });
  t.equal(answer.json?.request_id, answer.headers.get('x-request-id'));
}

/** A provider in this process, for a house that may call private addresses, and an assistant on it. */
export async function onProvider(
  t: Test,
  house: House,
  answer: Provider['answer'],
  { kind = 'openai', ...fields }: { kind?: 'openai' | 'anthropic'; [field: string]: unknown } = {},
): Promise<{ provider: Provider; assistant: any; credential: any }> {
  const upstream = await provider(answer);
  t.teardown(() => upstream.close());
  const credential = await credentialOf(house, kind, upstream.baseUrl);
  const model = { provider: kind, name: 'canary-model', credential_id: credential.id, ...(fields['model'] as object) };
  return { provider: upstream, credential, assistant: await house.assistant({ ...fields, model }) };
}

export const credentialOf = (house: House, provider: string, baseUrl: string, apiKey = 'canary-secret'): Promise<any> =>
  must(
    () =>
      house.console(`/workspaces/${house.workspaceId}/credentials`, {
        body: { kind: 'model', provider, base_url: baseUrl, api_key: apiKey },
      }),
    201,
  );

/** A whole answer of an OpenAI-compatible endpoint, with its token counts if there are any. */
export function answered(
  response: ServerResponse,
  pieces: readonly string[],
  usage?: { prompt_tokens: number; completion_tokens: number },
): void {
  response.writeHead(200, eventStream);
  for (const piece of pieces) response.write(delta(piece));
  response.write(delta('', 'stop'));
  if (usage) response.write(data({ choices: [], usage }));
  response.end(done);
}

/** The beginning of an answer; the test writes the rest. */
export function answering(response: ServerResponse, piece: string): void {
  response.writeHead(200, eventStream);
  response.write(delta(piece));
}

/** A view without what each use of a key, and time alone, changes. */
export const withoutUse = (view: unknown): unknown =>
  JSON.parse(
    JSON.stringify(view, (name, value) => (name === 'budgets' || name === 'last_used_at' ? undefined : value)),
  );

/** The console's path of an assistant of the house's workspace. */
export const assistantPath = (house: House, id: string, rest = ''): string =>
  `/workspaces/${house.workspaceId}/assistants/${id}${rest}`;

/** Calls the console's API as the operator; resolves with the JSON of an answer that must be a success. */
export async function operate(house: House, method: string, path: string, body?: object): Promise<any> {
  const { status, text, json } = await house.console(path, { method, ...(body && { body }) });
  if (status >= 300) throw new Error(`${method} ${path}: ${text}`);
  return json;
}
