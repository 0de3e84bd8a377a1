/** `parley webhooks`, against a server that answers as the contract says. */
import t from 'tap';
import { empty, fail, fakeServer, id, list, run, workspace, type Route } from './support.ts';

const base = `/console/api/workspaces/${workspace.id}/webhooks`;
const workspaces: Record<string, Route> = { 'GET /console/api/workspaces': () => list(workspace) };
const types = [
  'turn.completed',
  'turn.failed',
  'session.ended',
  'session.expired',
  'session.waiting',
  'session.taken',
  'session.returned',
];
const webhook = {
  id: id('whk', 'a'),
  object: 'webhook',
  url: 'https://crm.example.com/parley',
  events: ['turn.failed', 'session.ended'],
  enabled: true,
  created_at: 1767225600,
  updated_at: 1767225600,
};
const delivery = (letter: string, more: object = {}) => ({
  id: id('dlv', letter),
  object: 'webhook_delivery',
  type: 'turn.failed',
  status: 'delivered',
  attempts: 1,
  next_at: null,
  ...more,
});

t.test('webhooks create shows the secret once, and sends every type of event by default', async (t) => {
  const server = await fakeServer(t, {
    ...workspaces,
    [`POST ${base}`]: ({ body }) => ({ ...webhook, ...(body as object), secret: 'whsec_AAAA' }),
  });
  const { env } = server;
  t.strictSame(await run(['webhooks', 'create', webhook.url], { env }), {
    code: 0,
    stdout: `Created the webhook ${webhook.id}. Its events are signed with\n\n  whsec_AAAA\n\nKeep it now: it is not shown again.\n`,
    stderr: '',
  });
  t.strictSame(server.received.at(-1)!.body, { url: webhook.url, events: types });
  await run(['webhooks', 'create', webhook.url, '--event', 'turn.failed', '--event', 'session.ended'], { env });
  t.strictSame(server.received.at(-1)!.body, { url: webhook.url, events: ['turn.failed', 'session.ended'] });
});

t.test('webhooks list prints a table, and with --json what the API sent', async (t) => {
  const other = { ...webhook, id: id('whk', 'b'), enabled: false, events: ['turn.completed'] };
  const { env } = await fakeServer(t, { ...workspaces, [`GET ${base}`]: () => list(webhook, other) });
  t.strictSame((await run(['webhooks', 'list'], { env })).stdout.split('\n').map(cells), [
    'ID|URL|EVENTS|STATE|CREATED',
    `${webhook.id}|${webhook.url}|turn.failed, session.ended|enabled|2026-01-01 00:00:00Z`,
    `${other.id}|${webhook.url}|turn.completed|disabled|2026-01-01 00:00:00Z`,
    '',
  ]);
  t.strictSame(JSON.parse((await run(['webhooks', 'list', '--json'], { env })).stdout), list(webhook, other));
});

const cells = (line: string): string => line.replace(/ {2,}/g, '|');

t.test('an empty list of webhooks or deliveries is a sentence', async (t) => {
  const { env } = await fakeServer(t, {
    ...workspaces,
    [`GET ${base}`]: () => list(),
    [`GET ${base}/${webhook.id}/deliveries`]: () => list(),
  });
  t.equal((await run(['webhooks', 'list'], { env })).stdout, 'No webhooks.\n');
  t.equal((await run(['webhooks', 'deliveries', webhook.id], { env })).stdout, 'No deliveries.\n');
});

t.test('webhooks update, enable, disable and delete change what they name', async (t) => {
  const server = await fakeServer(t, {
    ...workspaces,
    [`PATCH ${base}/${webhook.id}`]: ({ body }) => ({ ...webhook, ...(body as object) }),
    [`DELETE ${base}/${webhook.id}`]: (_request, response) => empty(response),
  });
  const { env } = server;
  const printed = async (...args: string[]) => (await run(['webhooks', ...args], { env })).stdout;
  const url = 'https://crm.example.org/hook';
  t.equal(await printed('update', webhook.id, '--webhook-url', url), `Changed the webhook ${webhook.id}.\n`);
  t.strictSame(server.received.at(-1)!.body, { url });
  await printed('update', webhook.id, '--event', 'turn.completed');
  t.strictSame(server.received.at(-1)!.body, { events: ['turn.completed'] });
  t.equal(await printed('disable', webhook.id), `The webhook ${webhook.id} is disabled.\n`);
  t.strictSame(server.received.at(-1)!.body, { enabled: false });
  t.equal(await printed('enable', webhook.id), `The webhook ${webhook.id} is enabled.\n`);
  t.equal(await printed('delete', webhook.id), `Deleted the webhook ${webhook.id}.\n`);
  t.equal(server.lines().at(-1), `DELETE ${base}/${webhook.id}`);
  t.strictSame(await run(['webhooks', 'update', webhook.id], { env }), {
    code: 2,
    stdout: '',
    stderr: 'parley: Nothing to change: give --event or --webhook-url.\n',
  });
});

t.test('webhooks deliveries prints status and attempts, and retry sends one again', async (t) => {
  const deliveries = [
    delivery('c', { status: 'pending', attempts: 2, next_at: 1767225900 }),
    delivery('b', { status: 'failed', attempts: 7, type: 'session.ended' }),
    delivery('a'),
  ];
  const server = await fakeServer(t, {
    ...workspaces,
    [`GET ${base}/${webhook.id}/deliveries`]: () => list(...deliveries),
    [`POST ${base}/${webhook.id}/deliveries/${id('dlv', 'b')}/retry`]: () => deliveries[1],
  });
  const { env } = server;
  const table = await run(['webhooks', 'deliveries', webhook.id, '--limit', '3'], { env });
  t.strictSame(table.stdout.split('\n').map(cells), [
    'ID|EVENT|STATUS|ATTEMPTS|NEXT ATTEMPT',
    `${id('dlv', 'c')}|turn.failed|pending|2|2026-01-01 00:05:00Z`,
    `${id('dlv', 'b')}|session.ended|failed|7|-`,
    `${id('dlv', 'a')}|turn.failed|delivered|1|-`,
    '',
  ]);
  t.strictSame(server.received.at(-1)!.query, { limit: '3' });
  const retried = await run(['webhooks', 'retry', webhook.id, id('dlv', 'b')], { env });
  t.equal(retried.stdout, `The delivery ${id('dlv', 'b')} is sent again now.\n`);
});

t.test('a refusal says what to do', async (t) => {
  const refusal =
    (field: string): Route =>
    (_request, response) =>
      fail(response, 422, 'invalid_request', 'invalid_request', `The field \`${field}\` is not valid.`);
  for (const [field, advice] of [
    ['webhooks', 'A workspace has at most 5 webhooks: delete one first.'],
    ['events', `The events are ${types.join(', ')}. Name each once.`],
  ] as const) {
    const { env } = await fakeServer(t, { ...workspaces, [`POST ${base}`]: refusal(field) });
    const { code, stderr } = await run(['webhooks', 'create', webhook.url, '--event', 'turn.began'], { env });
    t.equal(code, 1);
    t.ok(stderr.includes(advice), stderr);
  }
  const { env } = await fakeServer(t, workspaces);
  t.match(
    (await run(['webhooks', 'deliveries', 'whk_x'], { env })).stderr,
    'There is no webhook whk_x. List them with',
  );
});
