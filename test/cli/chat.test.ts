import t from 'tap';
import {
  answering,
  api,
  chatPath,
  chats,
  keysPath,
  reply,
  started,
  stream,
  turnPath,
  withKey,
} from './chat-support.ts';
import { assistant, fail, id, key, list, run, sendJson, session, start } from './support.ts';

t.test('one message with a key of its own, which is revoked at the end as the session is ended', async (t) => {
  const server = await api(t, { [`POST ${chatPath}`]: answering(...reply('Hello', ' there. 🙂')) });
  const before = Math.floor(Date.now() / 1000);
  const done = await start(t, ['chat', '--once', 'Hi'], { env: server.env }).finished;
  t.strictSame(done, { code: 0, stdout: 'Hello there. 🙂\n', stderr: '' });
  t.strictSame(server.lines(), [
    'GET /console/api/workspaces',
    `POST ${keysPath}`,
    'GET /assistants',
    'POST /sessions',
    `POST ${chatPath}`,
    `POST /sessions/${session.id}/end`,
    `POST ${keysPath}/${key.id}/revoke`,
  ]);
  const made = server.received[1]!.body as { name: string; expires_at: number };
  t.equal(made.name, 'parley chat');
  t.ok(made.expires_at >= before + 86_400 && made.expires_at <= Date.now() / 1000 + 86_400);
  t.strictSame(server.received[3]!.body, { assistant_id: assistant.id, visitor: {} });
  t.strictSame(chats(server)[0]!.body, { message: 'Hi' });
  t.equal(chats(server)[0]!.headers.authorization, 'Bearer ak_made');
});

t.test('each line of stdin is a turn, empty ones are not', async (t) => {
  const server = await api(t, {
    [`POST ${chatPath}`]: (request, response) =>
      stream(response, reply(`You said: ${(request.body as { message: string }).message}`)),
  });
  const done = await run(['chat'], { env: withKey(server), input: 'one\n\n  \ntwo' });
  t.strictSame(done, { code: 0, stdout: 'You said: one\nYou said: two\n', stderr: '' });
  t.notOk(
    server.lines().some((line) => line.includes('/console/')),
    'a key that is given is used',
  );
  t.equal(chats(server)[0]!.headers.authorization, 'Bearer ak_given');
  t.equal(server.lines().at(-1), `POST /sessions/${session.id}/end`);
});

t.test('a failure within the stream ends a script with exit code 1, after what came', async (t) => {
  const failure = { code: 'assistant_unavailable', message: 'The assistant cannot answer at the moment.' };
  const server = await api(t, {
    [`POST ${chatPath}`]: answering(
      ['turn.started', 0, started],
      ['message.delta', 4, { text: 'Half' }],
      ['error', 4, failure],
    ),
  });
  const done = await start(t, ['chat'], { env: withKey(server), input: 'one\ntwo\n' }).finished;
  t.strictSame(done, {
    code: 1,
    stdout: 'Half\n',
    stderr: 'parley: The assistant cannot answer at the moment. (assistant_unavailable, request req_stream)\n',
  });
  t.equal(chats(server).length, 1);
});

t.test(
  'a failure before the stream is told with code and request id, and a POST that was answered is not sent again',
  async (t) => {
    const server = await api(t, {
      [`POST ${chatPath}`]: (_request, response) =>
        fail(response, 500, 'api_error', 'api_error', 'Something went wrong on our side.'),
    });
    const done = await run(['chat', '--once', 'Hi'], { env: withKey(server) });
    t.strictSame(done, {
      code: 1,
      stdout: '',
      stderr: 'parley: Something went wrong on our side. (api_error, request req_test)\n',
    });
    t.equal(chats(server).length, 1);
    t.equal(server.lines().at(-1), `POST /sessions/${session.id}/end`);
  },
);

t.test('a session that is over is left as it is', async (t) => {
  const server = await api(t, {
    [`POST ${chatPath}`]: (_request, response) =>
      fail(response, 409, 'conflict', 'session_expired', 'The session has expired.'),
  });
  const done = await run(['chat'], { env: withKey(server), input: 'Hi\nthere\n' });
  t.strictSame(done, {
    code: 1,
    stdout: '',
    stderr: 'parley: The session has expired. (session_expired, request req_test)\n',
  });
  t.equal(server.lines().at(-1), `POST ${chatPath}`);
});

t.test('a cut stream is resumed behind the last event, as often as it is cut', async (t) => {
  const resumes: (string | string[] | undefined)[] = [];
  const server = await api(t, {
    [`POST ${chatPath}`]: (_request, response) => {
      stream(response, reply('Hello', ' there').slice(0, 2), false);
      response.write('event: message.delta\nid: 11\n', () => response.destroy());
    },
    [`GET ${turnPath}/events`]: (request, response) => {
      resumes.push(request.headers['last-event-id']);
      if (resumes.length === 1) return stream(response, []) ?? undefined;
      if (resumes.length === 2)
        return (
          fail(response, 503, 'service_unavailable', 'api_error', 'The service is temporarily unavailable.') ??
          undefined
        );
      stream(response, reply('Hello', ' there').slice(2));
    },
  });
  const done = await run(['chat', '--once', 'Hi'], { env: withKey(server) });
  t.match(done, { code: 0, stdout: 'Hello there\n' });
  t.strictSame(resumes, ['5', '5', '5']);
  t.equal(chats(server).length, 1);
});

t.test('a stream that fails to resume is a failure', async (t) => {
  const server = await api(t, {
    [`POST ${chatPath}`]: answering(['turn.started', 0, started], ['message.delta', 4, { text: 'Half' }]),
    [`GET ${turnPath}/events`]: (_request, response) =>
      fail(response, 404, 'not_found', 'turn_not_found', 'No such turn.'),
  });
  const done = await run(['chat', '--once', 'Hi'], { env: withKey(server) });
  t.strictSame(done, {
    code: 1,
    stdout: 'Half\n',
    stderr: 'parley: No such turn. (turn_not_found, request req_test)\n',
  });
});

t.test('429 is waited for, then sent again', async (t) => {
  let tries = 0;
  const message = 'Rate limit exceeded. Retry in 1 seconds.';
  const server = await api(t, {
    [`POST ${chatPath}`]: (_request, response) => {
      if (tries++ === 0) fail(response, 429, 'rate_limit_error', 'rate_limited', message, { 'retry-after': '1' });
      else stream(response, reply('Hello'));
    },
  });
  const done = await run(['chat', '--once', 'Hi'], { env: withKey(server) });
  t.strictSame(done, {
    code: 0,
    stdout: 'Hello\n',
    stderr: `Trying again in 1 s: ${message} (rate_limited, request req_test)\n`,
  });
  t.equal(chats(server).length, 2);
});

t.test('required visitor fields: named if they are missing, sent in their type', async (t) => {
  const field = (name: string, type: string, required: boolean) => ({ name, label: name, type, required });
  const asking = {
    ...assistant,
    visitor_fields: [field('email', 'email', true), field('age', 'number', true), field('news', 'boolean', false)],
  };
  const server = await api(t, {
    'GET /assistants': () => list(asking),
    [`POST ${chatPath}`]: answering(...reply('Hello')),
  });
  const chat = (...visitor: string[]) =>
    run(['chat', '--once', 'Hi', ...visitor.flatMap((pair) => ['--visitor', pair])], { env: withKey(server) });
  t.strictSame(await chat('email=ada@example.com'), {
    code: 2,
    stdout: '',
    stderr: 'parley: The assistant asks for visitor fields: --visitor age=…\n',
  });
  t.match(
    await chat('email=ada@example.com', 'age= '),
    { code: 2, stderr: 'parley: --visitor age=… must be of type number.\n' },
    'nothing is no number',
  );
  t.match(await chat('email=ada', 'age=36'), { code: 2, stderr: 'parley: --visitor email=… must be of type email.\n' });
  t.match(await chat('email=ada@example.com', 'age=36', 'news=no', 'other=x'), { code: 0, stdout: 'Hello\n' });
  const created = server.received.find((one) => one.method === 'POST' && one.path === '/sessions')!;
  t.strictSame(created.body, {
    assistant_id: assistant.id,
    visitor: { email: 'ada@example.com', age: 36, news: false, other: 'x' },
  });
});

t.test('going on with a session leaves it open; --keep leaves a new one open', async (t) => {
  const server = await api(t, { [`POST ${chatPath}`]: answering(...reply('Hello')) });
  const note = `The session stays open; continue it with --session ${session.id}\n`;
  t.strictSame(await run(['chat', '--once', 'Hi', '--keep'], { env: withKey(server) }), {
    code: 0,
    stdout: 'Hello\n',
    stderr: note,
  });
  t.strictSame(await run(['chat', '--once', 'Hi', '--session', session.id], { env: withKey(server) }), {
    code: 0,
    stdout: 'Hello\n',
    stderr: note,
  });
  t.equal(server.lines().filter((line) => line === 'POST /sessions').length, 1);
  t.notOk(server.lines().some((line) => line.endsWith('/end')));
  t.match(await run(['chat', '--session', session.id, '--assistant', 'demo'], { env: withKey(server) }), {
    code: 2,
    stderr: /not both/,
  });
});

t.test('--json prints the events, one a line, and failures as JSON', async (t) => {
  const events = reply('Hello', '\u001b[2J');
  const body = {
    error: { type: 'conflict', code: 'turn_in_progress', message: 'A turn is already in progress on this session.' },
    request_id: 'req_test',
  };
  let tries = 0;
  const server = await api(t, {
    [`POST ${chatPath}`]: (_request, response) =>
      (tries++ === 0 ? stream(response, events) : sendJson(response, 409, body)) ?? undefined,
  });
  const done = await run(['chat', '--json'], { env: withKey(server), input: 'one\ntwo\n' });
  const lines = done.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
  t.strictSame(
    lines,
    events.map(([event, number, data]) => ({ event, id: String(number), data })),
  );
  t.strictSame([done.code, JSON.parse(done.stderr)], [1, body]);
});

t.test('chat uses the named assistant, else the only published one, else demo', async (t) => {
  const other = { ...assistant, id: id('asst', 'b'), name: 'other' };
  const draft = { ...assistant, id: id('asst', 'c'), name: 'draft', status: 'draft' };
  let known: object[] = [];
  const server = await api(t, {
    'GET /assistants': () => list(...known),
    [`POST ${chatPath}`]: answering(...reply('Hello')),
  });
  const chosen = async (assistants: object[], ...args: string[]) => {
    known = assistants;
    const done = await run(['chat', '--once', 'Hi', ...args], { env: withKey(server) });
    const created = server.received.findLast((one) => one.path === '/sessions');
    return done.code === 0 ? (created!.body as { assistant_id: string }).assistant_id : `${done.code} ${done.stderr}`;
  };
  t.equal(await chosen([draft, other]), other.id);
  t.equal(await chosen([other, assistant]), assistant.id);
  t.equal(await chosen([other, assistant], '--assistant', 'other'), other.id);
  t.equal(await chosen([other, draft], '--assistant', draft.id), draft.id);
  t.equal(
    await chosen([draft]),
    '2 parley: No assistant is published. Publish one with `parley assistants publish`.\n',
  );
  t.equal(
    await chosen([other, { ...other, name: 'third' }]),
    '2 parley: Choose an assistant with --assistant: other, third.\n',
  );
  t.equal(
    await chosen([other], '--assistant', 'none'),
    '1 parley: The key reaches no assistant "none". It reaches: other.\n',
  );
});
