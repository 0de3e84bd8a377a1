/** The settings of the public link, as the console takes them (contract 9). */
import t, { type Test } from 'tap';
import { openWorkspace, type Answer, type House } from './house.ts';
import { isRefused, unrated, wrongField } from './refusal.ts';

const wrong = (field: string) => unrated(wrongField(field));

t.test('a link is configured in the console', async (t) => {
  const house = await openWorkspace();
  await t.test('settings of a link are checked and stored', (t) => links(t, house));
  await t.test('a slug is unique in the whole installation', (t) => slugs(t, house));
});

const patch = (house: House, path: string, body: unknown) => house.console(path, { method: 'PATCH', body });

function answered(t: Test, answer: Answer, status: number, name: string): any {
  t.equal(answer.status, status, name);
  return answer.json;
}

async function links(t: Test, house: House): Promise<void> {
  const list = `/workspaces/${house.workspaceId}/assistants`;
  const create = (link: unknown) => house.console(list, { body: { name: 'a', link } });
  const given = { minutes_per_day: 0, concurrent_visitors: null, messages_per_address_per_hour: 1_000_000 };
  const made = answered(t, await create({ limits: { ...given, unknown: 3, __proto__: 1 } }), 201, 'created');
  t.same(
    made.link,
    { slug: null, limits: given, origins: [], feedback: false, identity: null, identity_required: false },
    'as given, without names that are unknown',
  );
  const path = `${list}/${made.id}`;
  const link = async (fields: object) =>
    answered(t, await patch(house, path, { link: fields }), 200, JSON.stringify(fields)).link;
  t.same(await link({ slug: '-a-'.padEnd(64, 'z') }), {
    slug: '-a-'.padEnd(64, 'z'),
    limits: given,
    origins: [],
    feedback: false,
    identity: null,
    identity_required: false,
  });
  const origins = [
    '*',
    'https://a.example',
    'https://b.example:8443',
    'https://*.c.example',
    'http://localhost',
    'http://localhost:3000',
    'https://[::1]:8443',
    'https://10.0.0.1',
  ];
  t.same((await link({ origins })).origins, origins);
  const changed = { ...given, minutes_per_day: 600, messages_per_visitor_per_day: 5 };
  t.same(
    await link({ limits: { minutes_per_day: 600, messages_per_visitor_per_day: 5 } }),
    {
      slug: '-a-'.padEnd(64, 'z'),
      limits: changed,
      origins,
      feedback: false,
      identity: null,
      identity_required: false,
    },
    'what is not named stays',
  );
  t.same(await link({ slug: null, limits: null, origins: [] }), {
    slug: null,
    limits: changed,
    origins: [],
    feedback: false,
    identity: null,
    identity_required: false,
  });

  for (const slug of ['', 'A', 'a b', 'a_b', 'ä', 'x'.repeat(65), 5])
    isRefused(t, await patch(house, path, { link: { slug } }), wrong('link.slug'), `slug ${slug}`);
  const bad = [
    ...[
      '',
      'a.example',
      'http://a.example',
      'https://',
      'https://*',
      'https://a.example/',
      'https://a.example/p',
      'https://a.example?',
      'https://u@a.example',
      'https://a.*.example',
    ],
    ...[
      'https://*.a.example:8443',
      'http://*.localhost',
      'http://localhost.a.example',
      'https://a.example:65536',
      'https://a.example:',
      'https://a..example',
      'ftp://a.example',
    ],
    ...['null', 'https://a.example https://b.example', 'https://999.1.1.1', `https://${'a.'.repeat(150)}example`],
  ];
  for (const origin of bad)
    isRefused(
      t,
      await patch(house, path, { link: { origins: ['*', origin] } }),
      wrong('link.origins'),
      `origin ${origin}`,
    );
  for (const item of [5, null, ['*'], {}])
    isRefused(
      t,
      await patch(house, path, { link: { origins: [item] } }),
      wrong('link.origins'),
      `origin ${JSON.stringify(item)}`,
    );
  isRefused(t, await patch(house, path, { link: { origins: Array(101).fill('*') } }), wrong('link.origins'));
  for (const limit of [-1, 1.5, '5', 1_000_001, true]) {
    isRefused(
      t,
      await create({ limits: { concurrent_visitors: limit } }),
      wrong('link.limits.concurrent_visitors'),
      `limit ${limit}`,
    );
  }
}

async function slugs(t: Test, house: House): Promise<void> {
  const made = async (name: string): Promise<string> =>
    `/workspaces/${(await house.console('/workspaces', { body: { name } })).json.id}`;
  const [one, other] = [await made('one'), await made('other')];
  const create = (workspace: string, slug: string | null) =>
    house.console(`${workspace}/assistants`, { body: { name: 'a', link: { slug } } });
  const remove = (path: string) => house.console(path, { method: 'DELETE' });
  const taken = wrong('link.slug');
  const first = answered(t, await create(one, 'support'), 201, 'free');
  const path = `${one}/assistants/${first.id}`;
  isRefused(t, await create(other, 'support'), taken, 'in another workspace');
  t.same((await house.console(`${other}/assistants`)).json.data, [], 'nothing was made');
  const second = answered(t, await create(other, 'sales'), 201, 'another');
  const otherPath = `${other}/assistants/${second.id}`;
  isRefused(t, await patch(house, otherPath, { name: 'b', link: { slug: 'support' } }), taken);
  t.same((await house.console(otherPath)).json, second, 'nothing was changed');
  for (const slug of ['support', 'help']) answered(t, await patch(house, path, { link: { slug } }), 200, slug);
  answered(t, await house.console(`${path}/publish`, { method: 'POST' }), 200, 'published under its slug');
  answered(t, await patch(house, otherPath, { link: { slug: 'support' } }), 200, 'free again: it is another');
  answered(t, await patch(house, otherPath, { link: null }), 200, 'no link');
  const third = answered(t, await create(one, 'support'), 201, 'free again: there is no link');
  answered(t, await remove(`${one}/assistants/${third.id}`), 204, 'removed');
  answered(t, await create(one, 'support'), 201, 'free again: its assistant is removed');
  answered(t, await remove(one), 204, 'the workspace removed');
  for (const slug of ['support', 'help'])
    answered(t, await create(other, slug), 201, `free again: its workspace is removed, ${slug}`);
  const rush = await Promise.all(Array.from({ length: 5 }, () => create(other, 'rush')));
  t.same(
    rush.map(({ status }) => status).sort((a, b) => a - b),
    [201, 422, 422, 422, 422],
  );
}
