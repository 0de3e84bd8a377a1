/**
 * The public link's API: admission, the paths of visitors, and answers that sites may read (contract 9, "Details of the
 * link").
 */
import { request } from 'node:http';
import t from 'tap';
import { openHouse } from '../../api/house.ts';
import { linked, site, statusOf, Visit } from './visits.ts';

t.test('a conversation over the link', async (t) => {
  const house = await openHouse(t);
  const assistant = await linked(house, 'talk', {
    greeting: 'Good day.',
    visitor_fields: [{ name: 'email', label: 'E-mail', type: 'email', required: true }],
  });

  await t.test('what a page shows', async (t) => {
    const { status, json, headers } = await house.ask('/p/talk/about', { key: null });
    t.equal(status, 200);
    t.same(json, {
      object: 'link',
      slug: 'talk',
      name: 'Test',
      description: null,
      greeting: 'Good day.',
      visitor_fields: [{ name: 'email', label: 'E-mail', type: 'email', required: true }],
      channels: { link: true, widget: true },
      status: 'open',
      feedback: false,
      desk: false,
      message_characters_max: 8000,
    });
    t.equal(headers.get('x-ratelimit-limit'), null);
  });

  await t.test('a visitor talks from the first message to the end', async (t) => {
    const visit = await Visit.to(house, 'talk');
    t.match(visit.id, /^vis_[0-9a-z]{26}$/);
    const missing = await visit.ask('/sessions', { body: {} });
    t.same([missing.status, missing.json.error.code], [422, 'missing_visitor_fields']);
    const opened = await visit.ask('/sessions', {
      body: { visitor: { email: 'a@b.example' }, metadata: { page: '/' } },
    });
    const session = opened.json;
    t.same([opened.status, session.channel, session.assistant_id], [201, 'link', assistant.id]);
    t.equal(opened.headers.get('location'), `/p/talk/sessions/${session.id}`);
    t.equal(opened.headers.get('x-ratelimit-limit'), null);
    const reply = await visit.say(session);
    t.equal(reply.status, 200);
    t.match(reply.text, /event: turn.completed/);
    const turnId = reply.headers.get('x-turn-id')!;
    const again = await visit.ask(`/sessions/${session.id}/turns/${turnId}/events?after=0`);
    t.match(again.text, /event: message.delta/);
    t.equal(
      (await visit.ask(`/sessions/${session.id}/turns/${turnId}/abort`, { method: 'POST' })).json.status,
      'completed',
    );
    t.same(
      (await visit.ask(`/sessions/${session.id}/transcript`)).json.data.map(({ role }: any) => role),
      ['assistant', 'user', 'assistant'],
    );
    t.equal((await visit.ask(`/sessions/${session.id}`)).json.status, 'open');
    t.equal((await visit.ask(`/sessions/${session.id}/end`, { method: 'POST' })).json.status, 'ended');
    t.equal((await visit.say(session)).json.error.code, 'session_ended');
    t.same(
      (await house.ask(`/sessions/${session.id}`)).json.channel,
      'link',
      'to an API key it is a session like any other',
    );
  });

  await t.test('a key makes a repeat safe, for a visitor of its own each', async (t) => {
    const [one, other] = [await Visit.to(house, 'talk'), await Visit.to(house, 'talk')];
    const body = { visitor: { email: 'a@b.example' } };
    const open = (visit: Visit) => visit.ask('/sessions', { body, headers: { 'idempotency-key': 'same' } });
    const [first, second, others] = [await open(one), await open(one), await open(other)];
    t.same([second.status, second.json.id, second.headers.get('idempotent-replayed')], [201, first.json.id, 'true']);
    t.not(others.json.id, first.json.id);
    const replies = [
      await one.say(first.json, 'Hi', { 'idempotency-key': 'k' }),
      await one.say(first.json, 'Hi', { 'idempotency-key': 'k' }),
    ];
    t.equal(replies[0]!.headers.get('x-turn-id'), replies[1]!.headers.get('x-turn-id'));
  });

  await t.test("another visitor's session is unknown, and so is one of a key", async (t) => {
    const [one, other] = [await Visit.to(house, 'talk'), await Visit.to(house, 'talk')];
    const session = await one.session({ visitor: { email: 'a@b.example' } });
    const reply = await one.say(session);
    const keys = await house.session(assistant.id, { visitor: { email: 'a@b.example' } });
    const paths: [string, string, unknown?][] = [
      ['GET', ''],
      ['GET', '/transcript'],
      ['POST', '/end'],
      ['POST', '/chat', { message: 'Hi' }],
      ['GET', `/turns/${reply.headers.get('x-turn-id')}/events`],
      ['POST', `/turns/${reply.headers.get('x-turn-id')}/abort`],
    ];
    for (const [method, path, body] of paths) {
      for (const { id } of [session, keys]) {
        const { status, json } = await other.ask(`/sessions/${id}${path}`, { method, body });
        t.same([status, json.error.code], [404, 'session_not_found'], `${method} ${path}`);
      }
    }
  });
});

const doorsHouse = await openHouse(t);
const doors = await linked(doorsHouse, 'doors');
const patch = (body: object) =>
  doorsHouse.console(`/workspaces/${doorsHouse.workspaceId}/assistants/${doors.id}`, { method: 'PATCH', body });
const visitors = (body: object, ask: object = {}, slug = 'doors') =>
  doorsHouse.ask(`/p/${slug}/visitors`, { key: null, body, ...ask });

t.test('visitors are named, and their tokens renewed', async (t) => {
  const { status, json, headers } = await visitors({ channel: 'link' });
  t.equal(status, 201);
  t.ok(Math.abs(json.expires_at - Date.now() / 1000 - 30 * 86_400) < 3600);
  t.equal(headers.get('x-ratelimit-limit'), null);
  const renewed = await visitors({ channel: 'widget', host: site }, { key: json.token });
  t.same([renewed.status, renewed.json.id], [201, json.id]);
  t.not(renewed.json.token, json.token);
  const old = await doorsHouse.ask('/p/doors/sessions', { key: json.token, body: {} });
  t.same([old.status, old.json.channel], [201, 'link'], 'the older token lives on');
  const session = await doorsHouse.ask('/p/doors/sessions', { key: renewed.json.token, body: {} });
  t.equal(session.json.channel, 'widget');
  t.equal(
    (await doorsHouse.ask(`/p/doors/sessions/${session.json.id}`, { key: json.token })).status,
    200,
    'they are one visitor',
  );
});

t.test('a body that is wrong', async (t) => {
  const named = async (body: object): Promise<[number, string, string]> => {
    const { status, json } = await visitors(body);
    return [status, json.error.code, json.error.message];
  };
  t.match(await named({}), [422, 'invalid_request', /channel/]);
  t.match(await named({ channel: 'api' }), [422, 'invalid_request', /channel/]);
  t.match(await named({ channel: 'widget' }), [422, 'invalid_request', /host/]);
  t.same(await named({ channel: 'widget', host: 'https://other.example' }), [
    403,
    'assistant_not_permitted',
    'This site may not use the assistant.',
  ]);
  for (const host of ['', 5, {}, 'x'.repeat(301)])
    t.match(await named({ channel: 'widget', host }), [422, 'invalid_request', /host/]);
  for (const host of ['https://other.example', '', 5, {}, 'x'.repeat(301)])
    t.equal((await visitors({ channel: 'link', host })).status, 201, 'a link has no host');
});

t.test('tokens that are not good', async (t) => {
  const { json } = await visitors({ channel: 'link' });
  await linked(doorsHouse, 'other-doors');
  const bad = [
    null,
    doorsHouse.key,
    `${json.token}x`,
    json.token.slice(0, -1),
    json.token.replace('.link.', '.widget.'),
    'vis_',
    json.token.replace(/\.[0-9a-z]{6}\./, '.zzzzzz.'),
  ];
  for (const key of bad) {
    const { status, headers, json: said } = await doorsHouse.ask('/p/doors/sessions', { key, body: {} });
    t.same([status, said.error.code, headers.get('www-authenticate')], [401, 'invalid_token', 'Bearer'], String(key));
    if (key !== null) t.equal((await visitors({ channel: 'link' }, { key })).status, 401);
  }
  t.equal(
    (await doorsHouse.ask('/p/other-doors/sessions', { key: json.token, body: {} })).status,
    401,
    'of another slug',
  );
  const inKey = await doorsHouse.ask('/p/doors/sessions', {
    key: null,
    headers: { 'x-api-key': doorsHouse.key },
    body: {},
  });
  t.equal(inKey.status, 401, 'an API key says nothing here');
  t.equal(
    (await doorsHouse.ask('/sessions', { key: json.token })).json.error.code,
    'invalid_api_key',
    'nor does a visitor to the API',
  );
  await patch({ link: { slug: 'renamed' } });
  t.equal(
    (await doorsHouse.ask('/p/renamed/sessions', { key: json.token, body: {} })).status,
    201,
    'a token survives a change of slug',
  );
  t.equal(
    (await doorsHouse.ask('/p/doors/sessions', { key: json.token, body: {} })).json.error.code,
    'assistant_not_found',
  );
  await patch({ link: { slug: 'doors' } });
});

t.test('a channel that is off is like a slug that nobody has', async (t) => {
  const visit = await Visit.to(doorsHouse, 'doors');
  const plain = ({ status, text }: { status: number; text: string }) => [status, text.replace(/req_\w+/, '')];
  const unknown = plain(await doorsHouse.ask('/p/nobody/about', { key: null }));
  t.match(unknown, [404, /assistant_not_found/]);
  await patch({ channels: { voice: false, link: false, widget: true } });
  t.same(plain(await visit.ask('/sessions', { body: {} })), unknown);
  t.same(plain(await visitors({ channel: 'link' })), unknown);
  t.equal((await doorsHouse.ask('/p/doors/about', { key: null })).status, 200, 'about needs either channel');
  t.equal((await visitors({ channel: 'widget', host: site })).status, 201);
  await patch({ channels: { voice: false, link: false, widget: false } });
  t.same(plain(await doorsHouse.ask('/p/doors/about', { key: null })), unknown);
  t.same(plain(await visitors({ channel: 'widget', host: site })), unknown);
  await patch({ channels: { voice: false, link: true, widget: true } });
});

t.test('an assistant that is not published is shown closed', async (t) => {
  const visit = await Visit.to(doorsHouse, 'doors');
  const session = await visit.session();
  const move = (verb: string) =>
    doorsHouse.console(`/workspaces/${doorsHouse.workspaceId}/assistants/${doors.id}/${verb}`, { method: 'POST' });
  for (const [verb, code] of [
    ['unpublish', 'assistant_not_published'],
    ['disable', 'assistant_disabled'],
  ] as const) {
    await move(verb);
    t.equal((await doorsHouse.ask('/p/doors/about', { key: null })).json.status, 'closed');
    t.equal((await visitors({ channel: 'link' })).status, 201);
    for (const answer of [await visit.ask('/sessions', { body: {} }), await visit.say(session)])
      t.same([answer.status, answer.json.error.code], [409, code]);
  }
  await move('enable');
  t.equal((await visit.say(session)).status, 200);
});

/** `fetch` sends no `Host` of ours. */
const askAs = (
  url: string,
  path: string,
  headers: Record<string, string>,
  method = 'GET',
): Promise<{ status: number; headers: Record<string, unknown> }> =>
  new Promise((resolve, reject) => {
    request(url + path, { method, headers, agent: false }, (response) => {
      response.resume().on('end', () => resolve({ status: response.statusCode!, headers: response.headers }));
    })
      .on('error', reject)
      .end();
  });

t.test('a site that is not listed cannot embed the link', async (t) => {
  const house = await openHouse(t, { env: { PARLEY_CONSOLE_ORIGIN: 'https://chat.example' } });
  const shown = await linked(house, 'sites', {
    origins: ['https://shop.example', 'https://*.wide.example', 'http://localhost:3000', 'https://port.example:8443'],
  });
  await linked(house, 'any', { origins: ['*'] });
  await linked(house, 'none', { origins: [] });
  const own = new URL(house.url).host;
  const about = async (origin: string, slug = 'sites') => {
    const { status, headers } = await askAs(house.url, `/p/${slug}/about`, { origin });
    return [status, headers['access-control-allow-origin'], headers['vary']];
  };

  await t.test('a listed one is named in every answer, another is refused', async (t) => {
    for (const origin of [
      'https://shop.example',
      'https://a.wide.example',
      'https://a.b.wide.example',
      'http://localhost:3000',
      'https://port.example:8443',
    ]) {
      t.same(await about(origin), [200, origin, 'Origin'], origin);
    }
    const unlisted = [
      ...[
        'https://other.example',
        'http://shop.example',
        'https://shop.example:8443',
        'https://wide.example',
        'http://a.wide.example',
        'https://a.wide.example:444',
        'https://awide.example',
        'https://.wide.example',
        'https://a..wide.example',
      ],
      ...[
        'http://localhost',
        'http://localhost:3001',
        'https://port.example',
        'null',
        'https://shop.example.evil.example',
        'nonsense',
        'https://shop.example/path',
        'file://',
      ],
    ];
    for (const origin of unlisted) t.same(await about(origin), [403, undefined, 'Origin'], origin);
    t.same(await about(`http://${own}`), [200, undefined, 'Origin'], 'ours is no other site');
    t.same(await about(`https://${own}`), [200, undefined, 'Origin'], 'behind TLS as well');
    t.same(await about('https://chat.example'), [200, undefined, 'Origin'], 'a proxy may rewrite the host');
    t.same(await about('https://anything.example:99', 'any'), [200, 'https://anything.example:99', 'Origin']);
    for (const origin of [
      'chrome-extension://abcdefghijklmnopabcdefghijklmnop',
      'moz-extension://c0a8e7a0-1b2c-4d5e-8f90-a1b2c3d4e5f6',
      'capacitor://localhost',
    ]) {
      t.same(await about(origin, 'any'), [200, origin, 'Origin'], origin);
      t.same(await about(origin), [403, undefined, 'Origin'], origin);
    }
    for (const origin of ['null', 'nonsense', 'about:blank', 'data:text/html,x', 'x://', 'app://a b', 'app://a;b'])
      t.equal((await about(origin, 'any'))[0], 403, origin);
    t.equal((await about('https://shop.example', 'none'))[0], 403, 'none listed: nowhere');
    t.same(await about('https://shop.example', 'nobody'), [404, undefined, 'Origin'], 'the slug comes first');
  });

  await t.test('the console shows the link where browsers find it', async (t) => {
    const { url, snippet } = await statusOf(house, shown);
    t.same(
      [url, snippet],
      [
        'https://chat.example/p/sites',
        '<script src="https://chat.example/widget.js" data-slug="sites" async></script>',
      ],
      'a proxy may rewrite the host',
    );
  });

  await t.test('what scripts may read and send', async (t) => {
    const visit = await Visit.to(house, 'sites', { headers: { origin: site } });
    const session = await visit.session();
    const answers = [
      await visit.say(session),
      await visit.say({ id: 'ses_none' }),
      await visit.ask('/sessions', { key: null, body: {} }),
      await visit.ask('/sessions', { body: [] }),
      await visit.ask(`/sessions/${session.id}`),
      await visit.ask('/visitors', { key: null, body: {} }),
    ];
    t.same(
      answers.map(({ status }) => status),
      [200, 404, 401, 422, 200, 422],
    );
    for (const { headers } of answers) {
      t.same(
        [
          headers.get('access-control-allow-origin'),
          headers.get('vary'),
          headers.get('access-control-allow-credentials'),
        ],
        [site, 'Origin', null],
      );
      t.equal(
        headers.get('access-control-expose-headers'),
        'x-request-id, x-turn-id, retry-after, location, idempotent-replayed',
      );
    }
  });

  await t.test('OPTIONS is answered on these paths and nowhere else', async (t) => {
    const options = (path: string, origin = site) =>
      askAs(house.url, path, { origin, 'access-control-request-method': 'POST' }, 'OPTIONS');
    const rows = [
      'about',
      'visitors',
      'sessions',
      'sessions/ses_1',
      'sessions/ses_1/transcript',
      'sessions/ses_1/end',
      'sessions/ses_1/chat',
      'sessions/ses_1/turns/turn_1/abort',
      'sessions/ses_1/turns/turn_1/events',
      'transcription-tokens',
      'speech',
    ];
    for (const row of rows) {
      const { status, headers } = await options(`/p/sites/${row}`);
      t.same(
        [status, headers['access-control-allow-origin'], headers['access-control-allow-headers']],
        [204, site, 'authorization, content-type, idempotency-key, last-event-id'],
        row,
      );
      t.notOk('access-control-allow-credentials' in headers);
      t.equal((await options(`/p/sites/${row}`, 'https://other.example')).status, 403);
      t.equal((await options(`/p/nobody/${row}`)).status, 404);
    }
    for (const path of [
      '/',
      '/sessions',
      '/assistants',
      '/p/sites',
      '/p/sites/frame',
      '/p/sites/nothing',
      '/console/api/workspaces',
      '/widget.js',
      '/healthz',
    ]) {
      const { status, headers } = await options(path);
      t.same([status, headers['access-control-allow-origin']], [404, undefined], path);
    }
  });
});

t.test('the order of the checks', async (t) => {
  const house = await openHouse(t);
  await linked(house, 'order', { limits: { messages_per_address_per_hour: 0 } });
  const visit = await Visit.to(house, 'order');
  const other = { origin: 'https://other.example' };
  const chat = (ask: object) =>
    house.ask('/p/order/sessions/ses_none/chat', { key: visit.token, method: 'POST', ...ask });
  t.equal(
    (await house.ask('/p/none/sessions', { key: 'bad', headers: other, body: '{' })).json.error.code,
    'assistant_not_found',
  );
  t.equal((await chat({ key: 'bad', headers: other, body: '{' })).json.error.code, 'assistant_not_permitted');
  t.equal((await chat({ key: 'bad', body: '{' })).json.error.code, 'invalid_token');
  t.equal((await chat({ body: '{' })).status, 400);
  t.equal((await chat({ body: {} })).status, 422);
  t.equal((await chat({ body: { message: 'Hi' } })).json.error.code, 'session_not_found');
  t.equal((await visit.ask('/sessions', { body: {} })).status, 429, 'last of all the limits');
});

t.test('the console says where the link is and what it has used', async (t) => {
  const house = await openHouse(t);
  const assistant = await linked(house, 'shown', { limits: { messages_per_visitor_per_day: 1 } });
  const before = await statusOf(house, assistant);
  const resets = new Date(`${before.day}T00:00:00Z`).getTime() / 1000 + 86_400;
  t.same(before, {
    object: 'link_status',
    url: `${house.url}/p/shown`,
    snippet: `<script src="${house.url}/widget.js" data-slug="shown" async></script>`,
    day: before.day,
    minutes_used: 0,
    visitors_present: 0,
    refused: {
      ...{
        minutes_per_day: 0,
        concurrent_visitors: 0,
        messages_per_visitor_per_day: 0,
        messages_per_address_per_hour: 0,
      },
      ...{ places_per_address: 0, minutes_per_address: 0 },
    },
    resets_at: resets,
  });
  t.ok(resets > Date.now() / 1000 - 5 && resets <= Date.now() / 1000 + 86_400);
  const visit = await Visit.to(house, 'shown');
  const session = await visit.session();
  t.equal((await visit.say(session)).status, 200);
  t.equal((await visit.say(session)).status, 429);
  const after = await statusOf(house, assistant);
  t.ok(after.minutes_used >= 1 && after.minutes_used < 1.5, String(after.minutes_used));
  t.same([after.visitors_present, after.refused.messages_per_visitor_per_day], [1, 1]);
  const plain = await house.assistant({});
  t.same([(await statusOf(house, plain)).url, (await statusOf(house, plain)).snippet], [null, null]);
  t.equal(
    (await house.console(`/workspaces/${house.workspaceId}/assistants/asst_none/link`)).json.error.code,
    'assistant_not_found',
  );
});
