/**
 * Three processes behind a proxy with TLS and without stickiness: whichever a request reaches, sessions, turns and keys
 * are the same.
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { request } from 'node:https';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { data, delta, done } from '../providers/model/provider.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { houseAt, openHouse, textOf, type House } from './house.ts';
import { openProxy, proxies, whyNoProxy } from './proxy.ts';
import { fetchTrusting, trusted } from './request.ts';
import { linesOf, secret } from './supervised.ts';
import {
  abort,
  answering,
  begin,
  chatPath,
  end,
  onProvider,
  refused,
  say,
  sessionOf,
  synthetic,
  transcriptOf,
  turnPath,
  until,
} from './talk.ts';

const times = Array.from({ length: 6 }, (_, index) => index);

type Houses = readonly [House, House, House];

/** `house` is asked through the proxy, `houses` without. The third does not trust the proxy's word. */
type Check = (t: Test, house: House, houses: Houses) => Promise<void>;

/** The log lines of these requests, by the process that served them. */
const servers = (house: House, houses: Houses, ids: readonly string[]): Promise<any[][]> =>
  until(async () => {
    // Lines logged before this answer have mostly been read by then.
    await house.ask('/healthz');
    const lines = houses.map((one) => linesOf(one).filter(({ request_id }) => ids.includes(request_id)));
    return lines.flat().length === ids.length && lines;
  });

const checks: Record<string, Check> = {
  'requests reach each of them, and a session lives in all': async (t, house, houses) => {
    const { id } = await house.session((await synthetic(house, 'tokens=3')).id);
    const ids: string[] = [];
    const chat = async (): Promise<void> => {
      const stream = await say(house, id);
      ids.push(stream.headers.get('x-request-id')!);
      t.equal((await stream.rest()).at(-1)!.event, 'turn.completed');
    };
    for (const _ of times) await chat();
    // A server that was too busy for a check of its health is left out for a while.
    await until(async () => (await servers(house, houses, ids)).every((lines) => lines.length > 0) || chat());
    const transcripts = await Promise.all(times.map(() => transcriptOf(house, id)));
    t.equal(transcripts[0]!.length, 2 * ids.length);
    for (const transcript of transcripts) t.same(transcript, transcripts[0]);
    const lists = await Promise.all(times.map(async () => (await house.ask('/sessions')).json.data));
    t.match(lists[0], [{ id }]);
    for (const list of lists) t.same(list, lists[0]);
  },

  'events leave as they come, and a stream goes on elsewhere': async (t, house) => {
    let upstream: ServerResponse | undefined;
    const { assistant } = await onProvider(t, house, (response) => answering((upstream = response), 'one '));
    const { id, stream } = await begin(house, assistant.id);
    t.equal((await stream.next())!.event, 'turn.started');
    t.match(
      await stream.next(),
      { event: 'message.delta', data: { text: 'one ' } },
      'before the provider has said the rest',
    );
    const resumed = await Promise.all(
      [1, 2, 3].map(() => house.stream(`${turnPath(id, stream.turnId)}/events?after=4`)),
    );
    upstream!.write(delta('two', 'stop'));
    upstream!.write(data({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } }));
    upstream!.end(done);
    for (const one of [stream, ...resumed]) {
      const rest = await one.rest();
      t.same([textOf(rest), rest.at(-1)!.event], ['two', 'turn.completed']);
    }
  },

  'turns are aborted from wherever': async (t, house) => {
    const assistant = await synthetic(house, 'tokens=100000,delay_ms=10');
    for (const _ of times) {
      const { id, stream } = await begin(house, assistant.id);
      t.equal((await abort(house, id, stream.turnId)).json.status, 'aborted');
      t.equal((await stream.rest()).at(-1)!.event, 'turn.aborted');
      t.equal((await end(house, id)).json.status, 'ended');
      t.equal((await sessionOf(house, id)).status, 'ended');
    }
  },

  'a restricted key is restricted by each, and a revoked one is revoked by all': async (t, house, houses) => {
    const [mine, other] = [await synthetic(house, 'tokens=1'), await synthetic(house, 'tokens=1')];
    const { key, id } = await house.newKey({ assistant_ids: [mine.id] });
    for (const _ of times) {
      t.same(
        (await house.ask('/assistants', { key })).json.data.map((one: any) => one.id),
        [mine.id],
      );
      refused(t, await house.ask(`/assistants/${other.id}`, { key }), 403, 'assistant_not_permitted');
      refused(
        t,
        await house.ask('/sessions', { key, body: { assistant_id: other.id } }),
        403,
        'assistant_not_permitted',
      );
    }
    await house.console(`/workspaces/${house.workspaceId}/keys/${id}/revoke`, { method: 'POST' });
    const revokedAt = Date.now();
    for (const one of houses) await until(async () => (await one.ask('/assistants', { key })).status === 401);
    t.comment(`revoked everywhere after ${Date.now() - revokedAt} ms`);
    for (const _ of times) refused(t, await house.ask('/assistants', { key }), 401, 'revoked_api_key');
  },

  'conversations of other protocols go on wherever a request arrives': async (t, house) => {
    const assistant = await synthetic(house, 'tokens=1');
    for (const name of times.slice(0, 3)) {
      const complete = () =>
        house.ask('/v1/chat/completions', {
          headers: { 'x-conversation-id': `${name}` },
          body: { model: assistant.id, messages: [{ role: 'user', content: 'Hello' }] },
        });
      const answers = await Promise.all(times.map(complete));
      t.ok(
        answers.every(({ status }) => status === 200 || status === 409),
        `at once: ${answers.map(({ status }) => status)}`,
      );
      answers.push(await complete());
      const good = answers.filter(({ status }) => status === 200);
      t.equal(new Set(good.map((answer) => answer.headers.get('x-session-id'))).size, 1, 'one session');
      t.equal((await transcriptOf(house, good[0]!.headers.get('x-session-id')!)).length, 2 * good.length);
    }

    const client = new Client({ name: 'test', version: '1' });
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${house.url}/mcp`), {
        fetch: fetchTrusting,
        requestInit: { headers: { authorization: `Bearer ${house.key}` } },
      }),
    );
    t.teardown(() => client.close());
    let session: string | undefined;
    for (const _ of times) {
      const { structuredContent } = await client.callTool({
        name: `ask_${assistant.id}`,
        arguments: { message: 'Hello', ...(session && { session_id: session }) },
      });
      const { session_id: id, text } = structuredContent as Record<string, string>;
      t.same([text, id], ['word ', session ?? id]);
      session = id;
    }
    t.equal((await transcriptOf(house, session!)).length, 12);
  },

  "a watcher's socket comes through": async (t, house) => {
    const open = (token: string): WebSocket =>
      new WebSocket(`${house.url.replace('http', 'ws')}/console/api/inspect`, {
        ca: trusted,
        headers: { authorization: `Bearer ${token}` },
      });
    const watcher = open(house.operatorToken);
    t.teardown(() => watcher.terminate());
    const [text] = (await once(watcher, 'message')) as [Buffer];
    t.match(JSON.parse(String(text)), { type: 'actors' });
    const stranger = open('not-the-token').on('error', () => {});
    const [, response] = (await once(stranger, 'unexpected-response')) as [unknown, IncomingMessage];
    t.equal(response.statusCode, 401);
    response.resume();
  },

  'who is behind the proxy is known to those who trust it, and cannot be made up': async (t, house, houses) => {
    const headers = { 'x-forwarded-for': '203.0.113.9' };
    const ids: string[] = [];
    const ask = async (): Promise<void> => {
      const sent = request(`${house.url}/healthz`, {
        headers,
        ca: trusted,
        localAddress: '127.0.0.2',
        agent: false,
      }).end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      response.resume();
      ids.push(String(response.headers['x-request-id']));
    };
    for (const _ of times) await ask();
    const expected = ['127.0.0.2', '127.0.0.2', '127.0.0.1'];
    const seen = await until(async () => {
      const lines = await servers(house, houses, ids);
      if (lines.every((some) => some.length > 0))
        return lines.map((some) => new Set(some.map(({ address }) => address)));
      return ask();
    });
    t.same(
      seen,
      expected.map((address) => new Set([address])),
    );
  },

  'what parley refuses is told in its own words': async (t, house) => {
    refused(t, await house.ask('/sessions', { body: `{"a":"${'x'.repeat(300_000)}"}` }), 400, 'invalid_request');
    refused(t, await house.ask('/nowhere'), 404, 'route_not_found');
    refused(t, await house.ask('/assistants', { key: 'ak_x' }), 401, 'invalid_api_key');
  },

  'when some are gone the others serve, and when all are the proxy says so in the one shape': async (
    t,
    house,
    [one, two, three],
  ) => {
    const { id } = await house.session((await synthetic(house, 'tokens=2')).id);
    await one.kill('SIGKILL');
    for (const _ of times) t.equal((await house.ask('/assistants')).status, 200);
    for (const _ of times) t.equal((await (await say(house, id)).rest()).at(-1)!.event, 'turn.completed');
    await Promise.all([two.kill('SIGKILL'), three.kill('SIGKILL')]);
    const away = await until(async () => {
      const answer = await fetchTrusting(house.url + chatPath(id), { method: 'POST', body: '{}' });
      return answer.status === 503 && answer;
    });
    t.match(await away.json(), {
      error: { type: 'service_unavailable', code: 'api_error' },
      request_id: away.headers.get('x-request-id'),
    });
    t.match(away.headers.get('retry-after'), /^\d+$/);
  },
};

// Before the first test: while a program is installed this process stands still.
const missing = proxies.map((proxy) => [proxy, whyNoRedis() ?? whyNoProxy(proxy)] as const);

for (const [proxy, lacking] of missing) {
  t.test(proxy, lacking === null ? {} : { skip: lacking }, async (t) => {
    const redis = await RedisServer.start(...appendOnly);
    t.teardown(() => redis.stop());
    const env = {
      PARLEY_STORE: redis.url,
      PARLEY_SECRET: secret,
      PARLEY_LOG: 'info',
      PARLEY_ALLOW_PRIVATE_PROVIDERS: '1',
    };
    const trusting = { ...env, PARLEY_TRUSTED_PROXIES: '127.0.0.1' };
    const houses = (await Promise.all(
      [trusting, trusting, env].map((env) => openHouse(t, { env })),
    )) as unknown as Houses;
    const { url, ready } = await openProxy(t, proxy, houses);
    await ready();
    const house = await houseAt({ ...houses[0], url });
    for (const [name, check] of Object.entries(checks)) await t.test(name, (t) => check(t, house, houses));
  });
}
