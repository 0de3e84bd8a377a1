import type { ServerResponse } from 'node:http';
import t from 'tap';
import {
  aborted,
  api,
  chatPath,
  chats,
  keysPath,
  reply,
  started,
  stream,
  turn,
  turnId,
  turnPath,
  withKey,
} from './chat-support.ts';
import { begin, fail, key, session, start, type Route } from './support.ts';

t.test('Ctrl-C gives up the wait of a 429', async (t) => {
  const server = await api(t, {
    [`POST ${chatPath}`]: (_request, response) =>
      fail(response, 429, 'rate_limit_error', 'rate_limited', 'Rate limit exceeded. Retry in 60 seconds.', {
        'retry-after': '60',
      }),
  });
  const running = begin(t, ['chat'], { env: withKey(server) });
  running.stdin.write('Hi\n');
  await running.printed('Trying again in 60 s');
  running.kill('SIGINT');
  await running.printed('(aborted)');
  running.stdin.end();
  t.match(await running.finished, { code: 0, stdout: '' });
  t.equal(chats(server).length, 1);
});

t.test('Ctrl-C during a reply aborts the turn, and at the prompt ends the session', async (t) => {
  let streaming: ServerResponse;
  const server = await api(t, {
    [`POST ${chatPath}`]: (_request, response) => {
      streaming = response;
      stream(
        response,
        [
          ['turn.started', 0, started],
          ['message.delta', 4, { text: 'Half' }],
        ],
        false,
      );
    },
    [`POST ${turnPath}/abort`]: () => {
      stream(streaming, [['turn.aborted', 4, aborted]]);
      return turn;
    },
  });
  const running = start(t, ['chat'], { env: server.env });
  running.stdin.write('Hi\n');
  await running.printed('Half');
  running.kill('SIGINT');
  await running.printed('(aborted)');
  running.kill('SIGINT');
  t.strictSame(await running.finished, { code: 0, stdout: 'Half\n', stderr: '(aborted)\n' });
  t.strictSame(server.lines().slice(-3), [
    `POST ${turnPath}/abort`,
    `POST /sessions/${session.id}/end`,
    `POST ${keysPath}/${key.id}/revoke`,
  ]);
});

t.test('Ctrl-C before the first output finds the turn by its session', async (t) => {
  let waiting: ServerResponse;
  let arrived = (): void => {};
  const sent = new Promise<void>((resolve) => (arrived = resolve));
  const server = await api(t, {
    [`GET /sessions/${session.id}`]: () => ({ ...session, active_turn_id: turnId }),
    [`POST ${chatPath}`]: (_request, response) => {
      waiting = response;
      arrived();
    },
    [`POST ${turnPath}/abort`]: () => {
      stream(waiting, [
        ['turn.started', 0, started],
        ['turn.aborted', 0, aborted],
      ]);
      return turn;
    },
  });
  const running = begin(t, ['chat', '--once', 'Hi'], { env: withKey(server) });
  await sent;
  running.kill('SIGINT');
  t.strictSame(await running.finished, { code: 0, stdout: '', stderr: '(aborted)\n' });
});

t.test('a second interrupt leaves without the abort, and SIGTERM leaves at once', async (t) => {
  let abortAsked = (): void => {};
  const asked = new Promise<void>((resolve) => (abortAsked = resolve));
  const routes: Record<string, Route> = {
    [`POST ${chatPath}`]: (_request, response) => stream(response, reply('Half').slice(0, 2), false),
    // An abort that gets no answer.
    [`POST ${turnPath}/abort`]: () => abortAsked(),
  };
  const first = await api(t, routes);
  const insisting = begin(t, ['chat'], { env: first.env });
  insisting.stdin.write('Hi\n');
  await insisting.printed('Half');
  insisting.kill('SIGINT');
  await asked;
  insisting.kill('SIGINT');
  await insisting.printed('(aborted)');
  t.strictSame(await insisting.finished, { code: 0, stdout: 'Half\n', stderr: '(aborted)\n' });
  t.strictSame(first.lines().slice(-2), [`POST /sessions/${session.id}/end`, `POST ${keysPath}/${key.id}/revoke`]);

  const second = await api(t, routes);
  const ended = start(t, ['chat'], { env: second.env });
  ended.stdin.write('Hi\n');
  await ended.printed('Half');
  ended.kill('SIGTERM');
  t.match(await ended.finished, { stdout: 'Half\n' });
  t.ok(second.lines().includes(`POST ${keysPath}/${key.id}/revoke`));
});
