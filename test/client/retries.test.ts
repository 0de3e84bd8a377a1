/** The retry table (contract 10), each row counted at the real server. */
import t, { type Test } from 'tap';
import { ConnectionError, ParleyError, RateLimitError } from '../../src/client/failure.ts';
import { transcriptOf, until } from '../api/talk.ts';
import type { Fault } from './faulty.ts';
import { countingFetch, failure, openScene, type Hurried, type Scene } from './scene.ts';

const scene = await openScene(t);
const { house, way, assistantId } = scene;
const session = await house.session(assistantId);
const paths = {
  get: `GET /sessions/${session.id}`,
  end: `POST /sessions/${session.id}/end`,
  create: 'POST /sessions',
  abort: `POST /sessions/${session.id}/turns/turn_1/abort`,
};

const answer = (status: number, body: string, headers: Record<string, string> = {}): Fault => ({
  kind: 'answer',
  status,
  body,
  headers,
});
const fault500 = answer(500, failure('api_error', 'api_error'));
const away = (headers?: Record<string, string>): Fault =>
  answer(503, failure('service_unavailable', 'api_error'), headers);
const limited = (seconds: number): Fault =>
  answer(429, failure('rate_limit_error', 'rate_limited'), { 'retry-after': String(seconds) });

/** Matches an empty list; `[]` would match any. */
const none = { length: 0 };

/**
 * Makes a call with these faults, one for each attempt, the last for all that follow; returns its outcome and the
 * number of attempts.
 */
async function tried(
  line: string,
  faults: readonly (Fault | null)[],
  act: (client: Hurried['parley']) => Promise<unknown>,
  options: Parameters<Scene['client']>[0] = {},
) {
  const before = way.count(line);
  way.fault = (asked, count) => (asked === line ? faults[Math.min(count - before, faults.length - 1)]! : null);
  const { parley, waits, clock } = scene.client(options);
  let result: unknown;
  let error: unknown;
  try {
    result = await act(parley);
  } catch (thrown) {
    error = thrown;
  }
  way.fault = () => null;
  return { sent: way.count(line) - before, waits, result: result as any, error: error as any, timers: clock.timers };
}

const get = (parley: Hurried['parley']) => parley.sessions.get(session.id);
const create = (parley: Hurried['parley']) => parley.sessions.create({ assistant_id: assistantId });

/** A chat on a new session, with the faults on its way. */
async function chatTried(faults: readonly (Fault | null)[], options?: Parameters<Scene['client']>[0]) {
  const { id } = await house.session(assistantId);
  const outcome = await tried(
    `POST /sessions/${id}/chat`,
    faults,
    async (parley) => (await parley.sessions.chat(id, 'Hello')).text(),
    options,
  );
  return { ...outcome, id, said: (await transcriptOf(house, id)).filter(({ role }) => role === 'user').length };
}

t.test('500 api_error: three attempts in all, with exponential backoff and full jitter', async (t) => {
  const failed = await tried(paths.get, [fault500], get);
  t.match(failed, {
    sent: 3,
    error: { code: 'api_error', status: 500, type: 'api_error', retryable: true },
    timers: 0,
  });
  t.ok(failed.error instanceof ParleyError);
  t.same(
    failed.waits.map(({ attempt, waitMs }) => [attempt, waitMs]),
    [
      [1, 250],
      [2, 500],
    ],
    'half of 500 and of 1000, as chance has it',
  );
  t.match(await tried(paths.get, [fault500, fault500, null], get), { sent: 3, result: { id: session.id } });
  t.match(
    await tried(paths.end, [fault500], (parley) => parley.sessions.end(session.id)),
    { sent: 3 },
    'what is no GET as well',
  );
  t.match(await tried(paths.abort, [fault500], (parley) => parley.turns.resume(session.id, 'turn_1').abort()), {
    sent: 3,
  });
});

t.test('503 api_error: backoff for up to 60 s, never below a Retry-After', async (t) => {
  const failed = await tried(paths.get, [away()], get);
  const waited = failed.waits.reduce((sum, { waitMs }) => sum + waitMs, 0);
  t.equal(waited, 60_000);
  t.same(
    failed.waits.map(({ waitMs }) => waitMs).slice(0, 6),
    [250, 500, 1000, 2000, 4000, 4000],
    'no further than 8 s',
  );
  t.match(failed, { error: { code: 'api_error', status: 503 }, sent: failed.waits.length + 1 });
  const told = await tried(paths.get, [away({ 'retry-after': '7' }), null], get);
  t.match(told, { sent: 2, waits: [{ waitMs: 7000 }], result: { id: session.id } });
  t.match(await tried(paths.get, [away({ 'retry-after': '61' })], get), {
    sent: 1,
    error: { status: 503, retryAfterSeconds: 61 },
  });
  t.match(await tried(paths.get, [away({ 'retry-after': '40' })], get), { sent: 2, waits: [{ waitMs: 40_000 }] });
});

t.test('three attempts are of faults alone: what is away in between is another matter', async (t) => {
  t.match(await tried(paths.get, [away(), away(), fault500, away(), fault500, fault500], get), {
    sent: 6,
    error: { status: 500 },
  });
});

t.test('429: after Retry-After, ten waits a call', async (t) => {
  const failed = await tried(paths.get, [limited(3)], get);
  t.match(failed, { sent: 11, error: { code: 'rate_limited', status: 429, retryAfterSeconds: 3, retryable: true } });
  t.ok(failed.error instanceof RateLimitError && failed.error instanceof ParleyError);
  t.same(
    failed.waits.map(({ waitMs }) => waitMs),
    Array(10).fill(3000),
  );
  t.match(await tried(paths.get, [limited(60), null], get), { sent: 2, result: { id: session.id } });
  t.match(
    await tried(paths.get, [limited(61)], get),
    { sent: 1, waits: none, error: { retryAfterSeconds: 61 } },
    'a longer wait is thrown at once',
  );
  t.match(await tried(paths.get, [limited(3)], get, { retryAfterMaxSeconds: 2 }), { sent: 1, waits: none });
});

t.test('permanent failures are sent once', async (t) => {
  const final = [
    answer(503, failure('service_unavailable', 'assistant_unavailable')),
    answer(503, failure('service_unavailable', 'voice_unavailable'), { 'retry-after': '1' }),
    answer(409, failure('conflict', 'turn_in_progress')),
    answer(401, failure('authentication_error', 'invalid_api_key')),
    answer(422, failure('invalid_request', 'invalid_request', 'The field `visitor.email` is required.')),
  ];
  for (const fault of final) {
    const { sent, error } = await tried(paths.get, [fault], get);
    t.equal(sent, 1, error.code);
    t.equal(error.retryable, false);
    t.equal(error.requestId, `req_${'a'.repeat(26)}`);
    t.equal(error.field, error.status === 422 ? 'visitor.email' : null);
  }
});

t.test('a connection that fails or times out: three attempts in all', async (t) => {
  for (const kind of ['never sent', 'no answer', 'half a head'] as const) {
    const failed = await tried(paths.get, [{ kind }], get);
    t.match(failed, { sent: 3, error: { code: null, status: null, retryable: true, answered: false } }, kind);
    t.ok(failed.error instanceof ConnectionError && failed.error instanceof ParleyError);
    t.match(await tried(paths.get, [{ kind }, { kind }, null], get), { sent: 3, result: { id: session.id } }, kind);
  }
  t.match(
    await tried(paths.get, [{ kind: 'cut body', bytes: 20 }], get),
    { sent: 3, error: { code: null, answered: true } },
    'after the head as well',
  );
  const nowhere = await tried(paths.get, [null], async () =>
    scene.client({ url: 'http://127.0.0.1:9' }).parley.sessions.get('ses_1'),
  );
  t.ok(nowhere.error instanceof ConnectionError, 'nothing listens');
});

t.test('an attempt that takes too long is given up, its body too', async (t) => {
  for (const fault of [{ kind: 'hang' }, { kind: 'silence', bytes: 20 }] as const) {
    const before = way.count(paths.get);
    way.fault = (line) => (line === paths.get ? fault : null);
    const { fetch, heads } = countingFetch();
    const { parley, clock, waits } = scene.client({
      timeoutMs: 5000,
      fetch: fetch,
    });
    const failed = t.rejects(parley.sessions.get(session.id), {
      code: null,
      message: /within 5 seconds/,
      answered: fault.kind === 'silence',
    });
    for (let sent = 1; sent <= 3; sent++) {
      await until(
        async () =>
          way.count(paths.get) - before === sent &&
          waits.length === sent - 1 &&
          (fault.kind === 'hang' || heads() === sent),
      );
      clock.advance(5000);
    }
    await failed;
    t.equal(way.count(paths.get) - before, 3, fault.kind);
    way.fault = () => null;
  }
});

t.test('a 502, a 504 and what is not in the shape of the API count as 500 api_error', async (t) => {
  const strange = [
    answer(502, '<html>Bad Gateway</html>', { 'content-type': 'text/html' }),
    answer(504, failure('service_unavailable', 'assistant_unavailable')),
    answer(200, '<html>Welcome to the hotel</html>', { 'content-type': 'text/html' }),
    answer(200, '{}'),
    answer(404, 'Not found'),
    answer(429, 'Slow down', { 'retry-after': '1' }),
    answer(503, '{"error":"away"}'),
  ];
  for (const fault of strange) {
    t.match(
      await tried(paths.get, [fault], get),
      { sent: 3, error: { code: 'api_error', type: 'api_error', status: 500 } },
      JSON.stringify(fault),
    );
  }
});

t.test('POST /sessions with the key that is made for it may be sent again freely', async (t) => {
  const faults: Fault[] = [
    fault500,
    away(),
    limited(1),
    { kind: 'never sent' },
    { kind: 'no answer' },
    { kind: 'half a head' },
    { kind: 'cut body', bytes: 10 },
  ];
  for (const fault of faults) {
    const from = way.asked.length;
    const { sent, result } = await tried(paths.create, [fault, null], create);
    t.equal(sent, 2, fault.kind);
    const keys = new Set(way.asked.slice(from).map(({ headers }) => headers['idempotency-key']));
    t.equal(keys.size, 1, 'one key for all attempts');
    t.match([...keys][0], /^[0-9a-f]{32}$/);
    t.match(await house.ask(`/sessions/${result.id}`), { status: 200 });
  }
  const before = (await house.ask('/sessions?limit=100')).json.data.length;
  await tried(paths.create, [{ kind: 'no answer' }, { kind: 'cut body', bytes: 30 }, null], create);
  t.equal(
    (await house.ask('/sessions?limit=100')).json.data.length,
    before + 1,
    'one session, however often it was asked for',
  );
});

t.test("idempotency: 'off' is the bare rule: POST /sessions is sent again only if no answer came", async (t) => {
  const off = { idempotency: 'off' } as const;
  for (const fault of [fault500, away(), limited(1), answer(502, ''), { kind: 'cut body', bytes: 10 } as const]) {
    t.match(await tried(paths.create, [fault, null], create, off), { sent: 1, waits: none }, JSON.stringify(fault));
  }
  for (const kind of ['never sent', 'no answer', 'half a head'] as const)
    t.match(await tried(paths.create, [{ kind }, null], create, off), { sent: 2 }, kind);
  t.match(await tried(paths.create, [{ kind: 'never sent' }], create, off), { sent: 3 });
  t.equal(way.asked.at(-1)!.headers['idempotency-key'], undefined);
  t.match(await tried(paths.get, [fault500], get, off), { sent: 3 }, 'all else is sent again as before');
  t.match(
    await tried(
      paths.create,
      [fault500, null],
      (parley) => parley.sessions.create({ assistant_id: assistantId }, { idempotencyKey: 'mine' }),
      off,
    ),
    { sent: 2 },
    'with a key of its own too',
  );
});

t.test('chat: the same, and the message is said once', async (t) => {
  const faults: Fault[] = [
    fault500,
    away(),
    limited(1),
    { kind: 'never sent' },
    { kind: 'no answer' },
    { kind: 'half a head' },
  ];
  const { result: whole } = await chatTried([null]);
  for (const fault of faults) t.match(await chatTried([fault, null]), { sent: 2, result: whole, said: 1 }, fault.kind);
  t.match(await chatTried([fault500]), { sent: 3, error: { status: 500 }, said: 0 });
  t.match(await chatTried([answer(503, failure('service_unavailable', 'assistant_unavailable'))]), { sent: 1 });

  const off = { idempotency: 'off' } as const;
  for (const fault of [fault500, away(), limited(1)])
    t.match(await chatTried([fault, null], off), { sent: 1, waits: none }, JSON.stringify(fault));
  t.match(await chatTried([{ kind: 'never sent' }, null], off), { sent: 2, result: whole, said: 1 });
});

t.test('after the head of a chat the stream is resumed, never sent again', async (t: Test) => {
  const { result: whole } = await chatTried([null]);
  for (const idempotency of ['auto', 'off'] as const) {
    for (const bytes of [0, 1, 100, 300]) {
      const { id } = await house.session(assistantId);
      const line = `POST /sessions/${id}/chat`;
      way.fault = (asked) => (asked === line ? { kind: 'cut body', bytes } : null);
      const turn = await scene.client({ idempotency }).parley.sessions.chat(id, 'Hello');
      t.equal(await turn.text(), whole);
      t.equal(way.count(line), 1);
      t.equal(way.count(`GET /sessions/${id}/turns/${turn.id}/events`), 1, `${bytes} bytes`);
    }
  }
});

t.test(
  'a stream that is cut is asked for as the table says: 500 thrice, and without a new event for 60 s',
  async (t) => {
    const cutThen = async (faults: readonly Fault[]) => {
      const { id } = await house.session(assistantId);
      let resumes = 0;
      way.fault = (line) =>
        line.endsWith('/chat')
          ? { kind: 'cut body', bytes: 200 }
          : line.endsWith('/events')
            ? faults[Math.min(resumes++, faults.length - 1)]!
            : null;
      const { parley, waits } = scene.client();
      const turn = await parley.sessions.chat(id, 'Hello');
      const error = await turn.text().then(
        () => null,
        (thrown: unknown) => thrown as any,
      );
      return { resumes, waits, error };
    };
    t.match(await cutThen([fault500]), { resumes: 3, error: { status: 500 } });
    t.match(await cutThen([answer(404, failure('not_found', 'turn_not_found'))]), {
      resumes: 1,
      error: { code: 'turn_not_found' },
    });
    t.match(await cutThen([limited(2)]), { resumes: 11, error: { code: 'rate_limited' } });
    const endings: Fault[] = [
      { kind: 'never sent' },
      { kind: 'cut body', bytes: 0 },
      away(),
      answer(200, ': hello\n\n', { 'content-type': 'text/event-stream' }),
    ];
    for (const fault of endings) {
      const { waits, error } = await cutThen([fault]);
      t.ok(error instanceof ConnectionError, JSON.stringify(fault));
      t.equal(
        waits.reduce((sum, { waitMs }) => sum + waitMs, 0),
        60_000,
      );
    }
    way.fault = () => null;
  },
);
