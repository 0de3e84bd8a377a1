/** The commands of an assistant's public link. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { temporaryFolder } from '../folders.ts';
import {
  assistantRoutes,
  consoleAssistant,
  fail,
  fakeServer,
  id,
  inWorkspace,
  run,
  workspaceRoutes,
  type Route,
} from './support.ts';

const one = `${inWorkspace}/assistants/${consoleAssistant.id}`;
const linkStatus = {
  object: 'link_status',
  url: 'http://127.0.0.1/p/hello',
  snippet: '<script src="http://127.0.0.1/widget.js" data-slug="hello" async></script>',
  day: '2026-09-21',
  minutes_used: 41.5,
  visitors_present: 3,
  refused: {
    ...{
      minutes_per_day: 0,
      concurrent_visitors: 2,
      messages_per_visitor_per_day: 0,
      messages_per_address_per_hour: 1,
    },
    ...{ places_per_address: 0, minutes_per_address: 0 },
  },
  resets_at: 1_790_035_200,
};
const linkRoutes: Record<string, Route> = {
  ...workspaceRoutes,
  ...assistantRoutes,
  [`GET ${one}`]: () => consoleAssistant,
  [`GET ${one}/link`]: () => linkStatus,
  [`PATCH ${one}`]: ({ body }) => ({
    ...consoleAssistant,
    channels: { voice: false, widget: false, ...(body as { channels: object }).channels },
    link: { origins: [], ...(body as { link?: object }).link },
  }),
};

t.test('link create: the slug, what is named of limits and sites, and where the page is', async (t) => {
  const server = await fakeServer(t, linkRoutes);
  const done = await run(['link', 'create', 'demo', '--slug', 'hello'], { env: server.env });
  t.strictSame(done, { code: 0, stdout: `The assistant "demo" is at ${linkStatus.url}\n`, stderr: '' });
  t.strictSame(server.received.find(({ method }) => method === 'PATCH')!.body, {
    channels: { link: true },
    link: { slug: 'hello' },
  });
  const args = [
    'link',
    'create',
    consoleAssistant.id,
    '--slug',
    'hello',
    '--widget',
    '--origin',
    'https://a.example',
    '--origin',
    '*',
    '--minutes-per-day',
    '0',
    '--messages-per-address-per-hour',
    '9',
    '--places-per-address',
    '3',
    '--minutes-per-address',
    '4',
  ];
  const both = await run(args, { env: server.env });
  t.ok(both.stdout.endsWith(`\n\nOn a site of yours:\n\n  ${linkStatus.snippet}\n`));
  const link = {
    slug: 'hello',
    origins: ['https://a.example', '*'],
    limits: { minutes_per_day: 0, messages_per_address_per_hour: 9, places_per_address: 3, minutes_per_address: 4 },
  };
  t.strictSame(server.received.filter(({ method }) => method === 'PATCH').at(-1)!.body, {
    channels: { link: true, widget: true },
    link,
  });
  t.match(
    (await run(['link', 'create', 'demo', '--slug', 'hello', '--widget'], { env: server.env })).stdout,
    /works on no site yet: name one with --origin\.\n$/,
  );
  t.match(await run(['link', 'create', 'demo'], { env: server.env }), { code: 2, stderr: /--slug/ });
});

t.test('link show says on which sites the widget is', async (t) => {
  let origins: readonly string[] = [];
  const server = await fakeServer(t, {
    ...linkRoutes,
    [`GET ${one}`]: () => ({ ...consoleAssistant, channels: { link: true, widget: true }, link: { origins } }),
  });
  const widget = async (): Promise<string> =>
    /^widget +(.*)$/m.exec((await run(['link', 'show', 'demo'], { env: server.env })).stdout)![1]!;
  t.equal(await widget(), 'on, but for no site: name one with `parley link create --origin`');
  origins = ['https://a.example', '*'];
  t.equal(await widget(), 'on, for https://a.example, *');
});

t.test('link show prints the link and link off turns it off', async (t) => {
  const server = await fakeServer(t, linkRoutes);
  const shown = await run(['link', 'show', 'demo'], { env: server.env });
  t.equal(shown.code, 0);
  for (const line of [
    /^link +off\n/,
    /\nwidget +off\n/,
    /address +http:\/\/127\.0\.0\.1\/p\/hello/,
    /day +2026-09-21, until 2026-09-22 00:00:00Z/,
    /minutes used +41\.5/,
    /visitors present +3/,
    /refused by concurrent_visitors +2/,
  ])
    t.match(shown.stdout, line);
  t.strictSame(JSON.parse((await run(['link', 'show', 'demo', '--json'], { env: server.env })).stdout), linkStatus);
  t.strictSame(await run(['link', 'off', 'demo'], { env: server.env }), {
    code: 0,
    stdout: 'The link and the widget of "demo" are off.\n',
    stderr: '',
  });
  t.strictSame(server.received.at(-1)!.body, { channels: { link: false, widget: false } });
});

t.test('a number of a file that is out of its range is refused with the range', async (t) => {
  const file = join(await temporaryFolder(t), 'assistant.json');
  await writeFile(file, '{"max_call_seconds":0}');
  const message = 'The field `max_call_seconds` has the wrong type or a value that is not allowed.';
  const server = await fakeServer(t, {
    ...linkRoutes,
    [`PATCH ${one}`]: (_request, response) => fail(response, 422, 'invalid_request', 'invalid_request', message),
  });
  t.match(await run(['assistants', 'update', 'demo', '--from', file], { env: server.env }), {
    code: 1,
    stderr: /It must be a whole number from 1 to \d+\./,
  });
});

t.test('a slug or an alias that is taken, and a wrong one, are explained', async (t) => {
  let field = 'link.slug';
  const server = await fakeServer(t, {
    ...linkRoutes,
    [`PATCH ${one}`]: (_request, response) =>
      fail(
        response,
        422,
        'invalid_request',
        'invalid_request',
        `The field \`${field}\` has the wrong type or a value that is not allowed.`,
      ),
  });
  t.match(await run(['link', 'create', id('asst', 'z'), '--slug', 'hello'], { env: server.env }), { code: 1 });
  const sentences = async (...args: string[]): Promise<string> => {
    const { code, stderr } = await run(args, { env: server.env });
    t.equal(code, 1);
    return stderr.replace(/^.* not allowed\. | \(invalid_request.*\n$/g, '');
  };
  t.equal(
    await sentences('link', 'create', 'demo', '--slug', 'taken'),
    'Another assistant of the installation has this slug: choose another one.',
  );
  t.equal(
    await sentences('link', 'create', 'demo', '--slug', 'Hello World'),
    'A slug has 1 to 64 characters: a to z, 0 to 9 and -.',
  );
  field = 'alias';
  t.equal(
    await sentences('assistants', 'update', 'demo', '--alias', 'taken'),
    'Another assistant of the workspace has this alias: choose another one.',
  );
  t.equal(
    await sentences('assistants', 'update', 'demo', '--alias', 'A B'),
    'An alias has 1 to 60 characters: a to z, 0 to 9, full stop, _ and -.',
  );
});
