/** Each code of the error table as `openai` has it: the class, the status, and whether it asks again. */
import OpenAI, {
  APIError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
} from 'openai';
import type { Test } from 'tap';
import { errors, refused, type ErrorName, type ErrorRow } from '../../src/base/errors.ts';
import { limits } from '../../src/base/limits.ts';
import { refusal } from '../../src/http/pipeline/reply.ts';
import { houseAt, type House } from '../api/house.ts';
import { activeTurn, synthetic } from '../api/talk.ts';
import { lastSession, openaiAt } from './openai.ts';

const classes = {
  AuthenticationError,
  BadRequestError,
  ConflictError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
};

/** A code as the client reports it; `asked`: number of requests, including its two retries. */
export interface Seen {
  readonly code: string;
  readonly status: number;
  readonly class: string;
  readonly asked: number;
}

const seenOf = (error: unknown, asked: number): Seen => {
  if (!(error instanceof APIError)) throw error;
  const name = Object.entries(classes).find(([, one]) => error.constructor === one)?.[0] ?? error.constructor.name;
  return { code: String(error.code), status: error.status as number, class: name, asked };
};

/** A client that asks at once where it would wait: the decision is its own, the wait is not. */
function counting(
  house: Pick<House, 'url' | 'key'>,
  apiKey: string | null,
  answer?: () => Response,
): { client: OpenAI; asked: () => number } {
  let asked = 0;
  const client = openaiAt(house as House, {
    ...(apiKey === null ? { defaultHeaders: { authorization: null } } : { apiKey }),
    async fetch(url, init) {
      asked++;
      const { body, status, headers } = answer === undefined ? await fetch(url, init) : answer();
      return new Response(body, { status, headers: [...headers, ['retry-after-ms', '1']] });
    },
  });
  return { client, asked: () => asked };
}

const course = {
  requestId: 'req_1',
  path: '/v1/chat/completions',
  startedAt: 0,
  route: null,
  caller: null,
  rate: null,
  site: null,
  span: null,
  failure: null,
};
const services = { metrics: { limited: { inc: () => {} } } } as unknown as Parameters<typeof refusal>[2];

/** A row of the table, as the pipeline answers with it. */
async function rowSeen(name: ErrorName): Promise<Seen> {
  const answer = (): Response => {
    const { status, headers, text } = refusal(refused(name, { field: 'x', seconds: 7, limit: 1 }), course, services);
    return new Response(text, { status, headers });
  };
  const { client, asked } = counting({ url: 'http://127.0.0.1:1', key: 'key' }, 'key', answer);
  return seenOf(await client.models.list().catch((error: unknown) => error), asked());
}

/** All rows of the table. */
export const tableSeen = (): Promise<Seen[]> =>
  Promise.all(Object.keys(errors).map((name) => rowSeen(name as ErrorName)));

const retriesOf = ({ retry }: ErrorRow): number => (retry === 'never' ? 0 : 2);

/** Provokes a refusal on a server; returns it as `openai` reports it. */
async function provoked(house: House, apiKey: string | null, ask: (client: OpenAI) => Promise<unknown>): Promise<Seen> {
  const { client, asked } = counting(house, apiKey);
  return seenOf(
    await ask(client).then(
      () => null,
      (error: unknown) => error,
    ),
    asked(),
  );
}

export async function failures(t: Test, server: House): Promise<void> {
  const table = await tableSeen();
  Object.values(errors).forEach((row, index) =>
    t.equal(table[index]!.asked, 1 + retriesOf(row), `${row.code} ${row.status}: as contract 2 says`),
  );

  const house = await houseAt(server, { workspace: 'new' });
  const expected = (name: ErrorName): Seen => table[Object.keys(errors).indexOf(name)]!;
  const chat =
    (model: string, content = 'Hi', more: object = {}) =>
    (client: OpenAI) =>
      client.chat.completions.create({ model, messages: [{ role: 'user', content }], ...more });
  const fine = await synthetic(house, 'tokens=1', { voice: { provider: 'synthetic' } });
  const draft = (await house.console(`/workspaces/${house.workspaceId}/assistants`, { body: { name: 'Draft' } })).json;
  const off = await synthetic(house, 'tokens=1');
  await house.console(`/workspaces/${house.workspaceId}/assistants/${off.id}/disable`, { method: 'POST' });
  const asks = await synthetic(house, 'tokens=1', { visitor_fields: [{ name: 'email', required: true }] });
  const away = await synthetic(house, 'fail_at=0');
  const mute = await synthetic(house, 'tokens=1', {
    channels: { voice: true },
    voice: { provider: 'synthetic', name: 'fail_at=0' },
  });
  const hangs = await synthetic(house, 'tokens=3,hang_at=2');
  const revoked = await house.newKey();
  await house.console(`/workspaces/${house.workspaceId}/keys/${revoked.id}/revoke`, { method: 'POST' });
  const narrow = await house.newKey({ assistant_ids: [fine.id] });
  const { id: responseId, conversation } = await openaiAt(house).responses.create({ model: fine.id, input: 'Hi' });
  const other = await openaiAt(house).responses.create({ model: hangs.id, input: 'Hi', stream: true });
  const busy = await lastSession(house, hangs.id);
  await activeTurn(house, busy.id);
  await openaiAt(house).responses.delete(responseId);
  const poor = await house.newKey({ limits: { requests: 1 } });
  await house.ask('/v1/models', { key: poor.key });

  const cases: [ErrorName, string | null, (client: OpenAI) => Promise<unknown>][] = [
    ['missing_api_key', null, chat(fine.id)],
    ['invalid_api_key', 'wrong', chat(fine.id)],
    ['revoked_api_key', revoked.key, chat(fine.id)],
    [
      'assistant_not_permitted',
      narrow.key,
      (client) => client.responses.retrieve(busy.active_turn_id.replace('turn_', 'resp_')),
    ],
    ['route_not_found', house.key, (client) => client.files.list()],
    ['model_not_found', house.key, chat('nobody')],
    ['model_not_found', narrow.key, chat(hangs.id)],
    [
      'session_not_found',
      house.key,
      (client) => client.responses.create({ model: fine.id, input: 'Hi', conversation: 'ses_nobody' }),
    ],
    ['turn_not_found', house.key, (client) => client.responses.retrieve('resp_nobody')],
    ['assistant_not_published', house.key, chat(draft.id)],
    ['assistant_disabled', house.key, chat(off.id)],
    [
      'session_ended',
      house.key,
      (client) => client.responses.create({ model: fine.id, input: 'Hi', conversation: conversation!.id }),
    ],
    [
      'turn_in_progress',
      house.key,
      (client) => client.responses.create({ model: hangs.id, input: 'Hi', conversation: busy.id }),
    ],
    [
      'voice_disabled',
      house.key,
      (client) => client.audio.speech.create({ model: fine.id, voice: 'tone', input: 'Hi' }),
    ],
    ['invalid_field', house.key, chat(fine.id, 'Hi', { n: 2 })],
    ['missing_visitor_fields', house.key, chat(asks.id)],
    [
      'text_too_long',
      house.key,
      (client) =>
        client.audio.speech.create({
          model: mute.id,
          voice: 'tone',
          input: 'x'.repeat(limits.speechCharactersMax + 1),
        }),
    ],
    ['assistant_unavailable', house.key, chat(away.id)],
    [
      'voice_unavailable',
      house.key,
      (client) => client.audio.speech.create({ model: mute.id, voice: 'tone', input: 'Hi' }),
    ],
    ['rate_limited', poor.key, chat(fine.id)],
  ];
  for (const [name, apiKey, ask] of cases) t.same(await provoked(house, apiKey, ask), expected(name), name);
  other.controller.abort();
}
