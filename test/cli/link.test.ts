import t from 'tap';
import { consoleAssistant, fail, fakeServer, id, list, run, workspace, type Route } from './support.ts';

const base = `/console/api/workspaces/${workspace.id}`;
const one = `${base}/assistants/${consoleAssistant.id}`;
const status = {
  object: 'link_status', url: 'http://127.0.0.1/p/hello', snippet: '<script src="http://127.0.0.1/widget.js" data-slug="hello" async></script>', day: '2026-09-21', minutes_used: 41.5, visitors_present: 3,
  refused: { minutes_per_day: 0, concurrent_visitors: 2, messages_per_visitor_per_day: 0, messages_per_address_per_hour: 1 }, resets_at: 1_790_035_200,
};
const routes: Record<string, Route> = {
  'GET /console/api/workspaces': () => list(workspace),
  [`GET ${base}/assistants`]: () => list(consoleAssistant),
  [`GET ${one}/link`]: () => status,
  [`PATCH ${one}`]: ({ body }) => ({ ...consoleAssistant, channels: { voice: false, widget: false, ...(body as { channels: object }).channels }, link: { origins: [], ...(body as { link?: object }).link } }),
};

t.test('link create: the slug, what is named of limits and sites, and where the page is', async (t) => {
  const server = await fakeServer(t, routes);
  const done = await run(t, ['link', 'create', 'demo', '--slug', 'hello'], { env: server.env });
  t.strictSame(done, { code: 0, stdout: `The assistant "demo" is at ${status.url}\n`, stderr: '' });
  t.strictSame(server.received.find(({ method }) => method === 'PATCH')!.body, { channels: { link: true }, link: { slug: 'hello' } });
  const args = ['link', 'create', consoleAssistant.id, '--slug', 'hello', '--widget', '--origin', 'https://a.example', '--origin', '*', '--minutes-per-day', '0', '--messages-per-address-per-hour', '9'];
  const both = await run(t, args, { env: server.env });
  t.ok(both.stdout.endsWith(`\n\nOn a site of yours:\n\n  ${status.snippet}\n`));
  const link = { slug: 'hello', origins: ['https://a.example', '*'], limits: { minutes_per_day: 0, messages_per_address_per_hour: 9 } };
  t.strictSame(server.received.filter(({ method }) => method === 'PATCH').at(-1)!.body, { channels: { link: true, widget: true }, link });
  t.match((await run(t, ['link', 'create', 'demo', '--slug', 'hello', '--widget'], { env: server.env })).stdout, /works on no site yet: name one with --origin\.\n$/);
  t.match(await run(t, ['link', 'create', 'demo'], { env: server.env }), { code: 2, stderr: /--slug/ });
});

t.test('link show and off', async (t) => {
  const server = await fakeServer(t, routes);
  const shown = await run(t, ['link', 'show', 'demo'], { env: server.env });
  t.equal(shown.code, 0);
  for (const line of [/address +http:\/\/127\.0\.0\.1\/p\/hello/, /day +2026-09-21, until 2026-09-22 00:00:00Z/, /minutes used +41\.5/, /visitors present +3/, /refused by concurrent_visitors +2/]) t.match(shown.stdout, line);
  t.strictSame(JSON.parse((await run(t, ['link', 'show', 'demo', '--json'], { env: server.env })).stdout), status);
  t.strictSame(await run(t, ['link', 'off', 'demo'], { env: server.env }), { code: 0, stdout: 'The link and the widget of "demo" are off.\n', stderr: '' });
  t.strictSame(server.received.at(-1)!.body, { channels: { link: false, widget: false } });
});

t.test('a slug that is taken is explained', async (t) => {
  const server = await fakeServer(t, { ...routes, [`PATCH ${one}`]: (_request, response) => fail(response, 422, 'invalid_request', 'invalid_request', 'The field `link.slug` has the wrong type or a value that is not allowed.') });
  t.match(await run(t, ['link', 'create', id('asst', 'z'), '--slug', 'hello'], { env: server.env }), { code: 1 });
  t.match(await run(t, ['link', 'create', 'demo', '--slug', 'taken'], { env: server.env }), { code: 1, stderr: /another may have it/ });
});
