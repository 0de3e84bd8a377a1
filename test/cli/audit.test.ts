/** `parley audit`, against a server that answers as the contract says. */
import t from 'tap';
import { openHouse } from '../api/house.ts';
import { fakeServer, id, list, run, workspace, type Route } from './support.ts';

const entry = (letter: string, more: object = {}) => ({
  object: 'audit_entry',
  id: id('aud', letter),
  at: 1767225600,
  by: { id: id('prs', 'a'), name: 'Anna', role: 'owner', address: '192.0.2.1' },
  action: 'update',
  object_type: 'assistant',
  object_id: id('asst', 'a'),
  workspace_id: workspace.id,
  changes: [{ path: 'model.system_prompt', before: 'Be kind.', after: 'Be brief.' }],
  ...more,
});
const workspaces: Record<string, Route> = { 'GET /console/api/workspaces': () => list(workspace) };

t.test('audit list prints a table of all workspaces with the way to the next page', async (t) => {
  const changes = ['name', 'greeting', 'model.name', 'model.provider'].map((path) => ({
    path,
    before: null,
    after: 1,
  }));
  const server = await fakeServer(t, {
    'GET /console/api/audit': () => ({
      ...list(
        entry('b'),
        entry('a', { action: 'create', changes, by: { ...entry('a').by, name: 'An\u001b[2Jna' } }),
        entry('9', { action: 'sign_in', object_type: 'sign_in', workspace_id: null, changes: [] }),
      ),
      has_more: true,
      next_cursor: id('aud', '9'),
    }),
  });
  const done = await run(['audit', 'list', '--limit', '3', '--order', 'desc'], { env: server.env });
  t.equal(done.code, 0, done.stderr);
  t.strictSame(
    done.stdout.split('\n').map((line) => line.replace(/ {2,}/g, '|')),
    [
      'TIME|BY|ROLE|ACTION|OBJECT|FIELDS',
      `2026-01-01 00:00:00Z|Anna|owner|update assistant|${id('asst', 'a')}|model.system_prompt`,
      `2026-01-01 00:00:00Z|An[2Jna|owner|create assistant|${id('asst', 'a')}|name, greeting, model.name and 1 more`,
      `2026-01-01 00:00:00Z|Anna|owner|sign_in sign_in|${id('asst', 'a')}|-`,
      '',
      `There are more: add --after ${id('aud', '9')}`,
      '',
    ],
  );
  t.strictSame(server.received.at(-1)!.query, { limit: '3', order: 'desc' });
});

t.test('audit list passes its filters, a workspace by its name', async (t) => {
  const server = await fakeServer(t, { ...workspaces, 'GET /console/api/audit': () => list() });
  const args = ['audit', 'list', '--workspace', 'default', '--by', 'Anna', '--object', id('asst', 'a')];
  t.strictSame(await run(args, { env: server.env }), { code: 0, stdout: 'No changes.\n', stderr: '' });
  t.strictSame(server.received.at(-1)!.query, { workspace: workspace.id, by: 'Anna', object_id: id('asst', 'a') });
  const json = await run([...args, '--json'], { env: server.env });
  t.strictSame(JSON.parse(json.stdout), list());
});

t.test('audit export prints every page as lines of JSON, oldest first', async (t) => {
  const [one, two, three] = [entry('a'), entry('b'), entry('c', { changes: [{ path: 'x', before: '\n', after: {} }] })];
  const server = await fakeServer(t, {
    'GET /console/api/audit': ({ query }) =>
      query['after'] === undefined
        ? { ...list(one, two), has_more: true, next_cursor: two.id }
        : { ...list(three), next_cursor: null },
  });
  const done = await run(['audit', 'export', '--by', 'Anna'], { env: server.env });
  t.strictSame(done, {
    code: 0,
    stdout: [one, two, three].map((each) => `${JSON.stringify(each)}\n`).join(''),
    stderr: '',
  });
  t.strictSame(
    server.received.map(({ query }) => query),
    [
      { by: 'Anna', order: 'asc', limit: '100' },
      { by: 'Anna', order: 'asc', limit: '100', after: two.id },
    ],
  );
  const rest = await run(['audit', 'export', '--after', two.id, '--order', 'desc'], { env: server.env });
  t.equal(rest.stdout, `${JSON.stringify(three)}\n`);
  t.strictSame(server.received.at(-1)!.query, { order: 'desc', limit: '100', after: two.id });
});

t.test('an export that fails after its first page keeps the printed lines and exits with 1', async (t) => {
  const server = await fakeServer(t, {
    'GET /console/api/audit': ({ query }, response) => {
      if (query['after'] === undefined) return { ...list(entry('a')), has_more: true, next_cursor: id('aud', 'a') };
      response.writeHead(503, { 'content-type': 'application/json' }).end('{}');
      return undefined;
    },
  });
  const done = await run(['audit', 'export'], { env: server.env });
  t.equal(done.code, 1);
  t.equal(done.stdout, `${JSON.stringify(entry('a'))}\n`);
  t.match(done.stderr, /^parley: /);
});

t.test('an unknown order is wrong usage, and the help names both commands', async (t) => {
  t.equal((await run(['audit', 'export', '--order', 'newest'])).code, 2);
  const help = await run(['audit', '--help']);
  t.match(help.stdout, /^ {2}export /m);
  t.match(help.stdout, /^ {2}list /m);
});

t.test('audit export prints the rows of a server as its API lists them', async (t) => {
  const house = await openHouse(t);
  for (const name of ['one', 'two'])
    await house.console(`/workspaces/${house.workspaceId}/assistants`, { body: { name } });
  const env = { PARLEY_URL: house.url, PARLEY_OPERATOR_TOKEN: house.operatorToken };
  const listed = (await house.console('/audit?order=asc&limit=100')).json.data;
  const done = await run(['audit', 'export', '--workspace', house.workspaceId], { env });
  t.equal(done.code, 0, done.stderr);
  const rows = done.stdout.trim().split('\n');
  t.strictSame(
    rows.map((line) => JSON.parse(line)),
    listed.filter((one: { workspace_id: string | null }) => one.workspace_id === house.workspaceId),
  );
  t.match((await run(['audit', 'list'], { env })).stdout, /operator {2}owner {2}create assistant {2}asst_/);
});
