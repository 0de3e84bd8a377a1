import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import t from 'tap';
import {
  fail,
  fakeServer,
  id,
  list,
  operatorToken,
  run,
  sendJson,
  start,
  workspace,
  type Received,
  type Route,
} from './support.ts';

const base = `/console/api/workspaces/${workspace.id}`;
const workspaces: Record<string, Route> = { 'GET /console/api/workspaces': () => list(workspace) };

t.test('a command uses the named workspace, else the only one, else default', async (t) => {
  const second = { ...workspace, id: id('wks', 'b'), name: 'second' };
  const named = { ...workspace, id: id('wks', 'c'), name: 'default' };
  let known: object[] = [second];
  const server = await fakeServer(t, {
    'GET /console/api/workspaces': () => list(...known),
    [`GET /console/api/workspaces/${second.id}/keys`]: () => list(),
    [`GET /console/api/workspaces/${named.id}/keys`]: () => list(),
  });
  const reached = async (...args: string[]) => {
    const done = await run(['keys', 'list', ...args], { env: server.env });
    return done.code === 0 ? server.received.at(-1)!.path.split('/')[4] : `${done.code} ${done.stderr}`;
  };
  t.equal(await reached(), second.id);
  known = [second, named];
  t.equal(await reached(), named.id);
  t.equal(await reached('--workspace', 'second'), second.id);
  t.equal(
    await reached('--workspace', 'third'),
    '1 parley: No workspace is called "third". List them with `parley workspaces list`.\n',
  );
  known = [second, second];
  t.equal(await reached(), '2 parley: There are several workspaces; choose one with --workspace.\n');
  t.match(await reached('--workspace', 'second'), '2 parley: Several workspaces are called "second"');
});

t.test("failures: the API's message with code and request id, or its JSON; exit code 1", async (t) => {
  const body = {
    error: { type: 'not_found', code: 'session_not_found', message: 'No such session.' },
    request_id: 'req_test',
  };
  const server = await fakeServer(t, {
    ...workspaces,
    [`GET ${base}/sessions/gone`]: (_request, response) => sendJson(response, 404, body),
    [`GET ${base}/sessions/proxy`]: (_request, response) => void response.writeHead(502).end('<html>'),
    [`GET ${base}/sessions/html`]: (_request, response) => void response.writeHead(200).end('<html>'),
    [`GET ${base}/keys`]: (_request, response) =>
      fail(response, 401, 'authentication_error', 'invalid_api_key', 'The API key is not valid.'),
  });
  const { env, url } = server;
  t.strictSame(await run(['sessions', 'show', 'gone'], { env }), {
    code: 1,
    stdout: '',
    stderr:
      'parley: There is no session gone. List them with `parley sessions list`. (session_not_found, request req_test)\n',
  });
  t.strictSame(await run(['sessions', 'show', 'gone', '--json'], { env }), {
    code: 1,
    stdout: '',
    stderr: `${JSON.stringify(body)}\n`,
  });
  t.strictSame(await run(['sessions', 'show', 'proxy'], { env }), {
    code: 1,
    stdout: '',
    stderr: 'parley: The server answered 502 without an error that parley knows.\n',
  });
  t.strictSame(await run(['sessions', 'show', 'html'], { env }), {
    code: 1,
    stdout: '',
    stderr: `parley: What answers at ${url} is not parley.\n`,
  });
  t.match(await run(['keys', 'list'], { env }), {
    code: 1,
    stderr: /^parley: The server does not accept this operator token\..*\(invalid_api_key, request req_test\)\n$/,
  });
});

t.test('where and who: flags, environment, data folder', async (t) => {
  const server = await fakeServer(t, { ...workspaces });
  const sent = (): Received => server.received.at(-1)!;
  const folder = t.testdir({
    data: { 'operator-token': 'token-of-the-folder\n' },
    other: { 'operator-token': 'token-of-the-other-folder\n' },
  });
  const port = new URL(server.url).port;
  const args = ['workspaces', 'list'];
  t.equal((await start(t, args, { cwd: folder, env: { PORT: port } }).finished).code, 0);
  t.equal(sent().headers.authorization, 'Bearer token-of-the-folder');
  t.equal((await run(args, { env: { PORT: port, PARLEY_STORE: `lmdb:${folder}/other` } })).code, 0);
  t.equal(sent().headers.authorization, 'Bearer token-of-the-other-folder');
  t.equal(
    (
      await run([...args, '--url', `${server.url}/`, '--operator-token', 'operator-token-of-the-flag'], {
        env: { PARLEY_URL: 'http://127.0.0.1:1', PARLEY_OPERATOR_TOKEN: 'operator-token-of-the-environment' },
      })
    ).code,
    0,
  );
  t.equal(sent().headers.authorization, 'Bearer operator-token-of-the-flag');

  t.match(await run(args, { env: { PARLEY_STORE: 'lmdb:none' } }), {
    code: 2,
    stderr:
      /^parley: No operator token\..*\(there is no none\/operator-token; the first start of a server writes it\)\.\n$/,
  });
  t.strictSame(await run(args, { env: { PARLEY_OPERATOR_TOKEN: 'two words' } }), {
    code: 2,
    stdout: '',
    stderr: 'parley: PARLEY_OPERATOR_TOKEN must be printable ASCII without spaces.\n',
  });
  t.strictSame(await run(args, { env: { PARLEY_OPERATOR_TOKEN: 'short' } }), {
    code: 2,
    stdout: '',
    stderr: 'parley: PARLEY_OPERATOR_TOKEN must have at least 24 characters.\n',
  });
  t.strictSame(await run(args, { env: { ...server.env, PARLEY_URL: 'nowhere' } }), {
    code: 2,
    stdout: '',
    stderr: 'parley: PARLEY_URL must be an http or https address without a user name.\n',
  });
});

t.test('a server that is not there is said so in a line', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  await once(taken.close(), 'close');
  const env = { PARLEY_URL: `http://127.0.0.1:${port}`, PARLEY_OPERATOR_TOKEN: operatorToken };
  const message = `Nothing listens at http://127.0.0.1:${port}. Start the server with \`npm start\`, or name another with --url.`;
  t.strictSame(await start(t, ['keys', 'list'], { env }).finished, {
    code: 1,
    stdout: '',
    stderr: `parley: ${message}\n`,
  });
  const json = await run(['keys', 'list', '--json'], { env });
  t.strictSame(JSON.parse(json.stderr), {
    error: { type: 'command_error', code: 'connection_failed', message },
    request_id: null,
  });
});
