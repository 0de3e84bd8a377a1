/**
 * The known paths, and the answer of all others: before authentication, without rate headers, in the one shape
 * (contract 1 and 3).
 */
import t, { type Test } from 'tap';
import { edges, openHouse, type House } from './house.ts';
import { rawAsk } from './raw.ts';
import { isRated, isRefused, refusals, refusedAt, unrated, unreadableHeader } from './refusal.ts';

for (const edge of edges) {
  t.test(edge, async (t) => {
    const house = await openHouse(t, { env: { PARLEY_EDGE: edge } });
    await t.test('every path has the methods of the document and no others', (t) => everyMethod(t, house));
    await t.test('paths that only look like one', (t) => lookalikes(t, house));
    await t.test('a path is decoded once, and only where an id stands', (t) => decoding(t, house));
    await t.test('HEAD answers with the head of GET', (t) => head(t, house));
    await t.test('an upgrade of another path is refused', (t) => upgrades(t, house));
  });
}

async function everyMethod(t: Test, house: House): Promise<void> {
  const { paths } = (await house.ask('/openapi.json')).json;
  for (const [template, methods] of Object.entries<any>(paths)) {
    const path = template.replace(/\{\w+\}/g, 'x');
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY']) {
      const operation = methods[method.toLowerCase()];
      const answer = await rawAsk(house.url, path, { method });
      const name = `${method} ${template}`;
      // No link has this slug. `OPTIONS` is answered under a link, and is in no document.
      // The button of the sign-in page is in no document either.
      if (name === 'GET /console/api/sign-in') t.equal(answer.status, 200, name);
      else if (template.startsWith('/p/') && (operation !== undefined || method === 'OPTIONS'))
        isRefused(t, answer, unrated(refusals.noAssistant), name);
      else if (operation === undefined)
        isRefused(
          t,
          answer,
          template === '/mcp' ? { ...refusals.noRoute, status: 405 } : refusedAt(template, refusals.noRoute),
          name,
        );
      else if (operation.security[0]?.token) isRefused(t, answer, refusals.invalidToken, name);
      else if (operation.security.length > 0) isRefused(t, answer, refusedAt(template, refusals.missingKey), name);
      else t.equal(answer.status, name === 'POST /console/api/sign-in' ? 400 : 200, name);
    }
  }
}

async function lookalikes(t: Test, house: House): Promise<void> {
  const { key } = house;
  const assistant = await house.assistant();
  const paths = [
    '/',
    '/v1/assistants',
    '/assistants/',
    '//assistants',
    '/assistants//',
    `/assistants/${assistant.id}/`,
    `/assistants//${assistant.id}`,
    '/sessions//chat',
    '/Assistants',
    '/ASSISTANTS',
    '/assistants.json',
    '/assistants;x=1',
    '/assistants%2f',
    '/%61ssistants',
    '/./assistants',
    '/x/../assistants',
    '/sessions/x/y',
    '/sessions/x/chat/y',
    '/healthz/',
    '/__proto__',
    '/constructor',
    '/console/api',
    '/console/api/workspaces/',
    `/${'x'.repeat(4000)}`,
    `/${'x/'.repeat(2000)}`,
  ];
  for (const path of paths)
    isRefused(
      t,
      await rawAsk(house.url, path, { headers: { 'X-Api-Key': key } }),
      refusedAt(path, refusals.noRoute),
      path.slice(0, 60),
    );
  for (const query of ['?', '?x', '?limit=1&limit=2', '?a[]=%ZZ']) {
    t.equal(
      (await rawAsk(house.url, `/assistants${query}`, { headers: { 'X-Api-Key': key } })).status,
      200,
      `a query does not belong to the path: ${query}`,
    );
  }
}

async function decoding(t: Test, house: House): Promise<void> {
  const headers = { 'X-Api-Key': house.key };
  const assistant = await house.assistant();
  const ask = (id: string) => rawAsk(house.url, `/assistants/${id}`, { headers });
  t.equal((await ask(assistant.id.replace('_', '%5f'))).json.id, assistant.id);
  t.equal((await ask(assistant.id.replace('_', '%5F'))).json.id, assistant.id);
  const none = [
    '%',
    '%zz',
    '%ff',
    '%00',
    '%252f',
    `${assistant.id}%20`,
    `%20${assistant.id}`,
    assistant.id.toUpperCase(),
    `x%2f..%2f${assistant.id}`,
    '..%2f',
    '*',
    'x'.repeat(5000),
  ];
  for (const id of none) isRefused(t, await ask(id), refusals.noAssistant, id.slice(0, 40));
  isRefused(t, await rawAsk(house.url, `/sessions/${encodeURIComponent('../../x')}`, { headers }), refusals.noSession);
}

async function head(t: Test, house: House): Promise<void> {
  const assistant = await house.assistant();
  const headers = { 'X-Api-Key': house.key };
  for (const path of [
    '/assistants',
    `/assistants/${assistant.id}`,
    '/sessions',
    '/usage?start=0&end=0',
    '/healthz',
    '/openapi.json',
  ]) {
    const [got, asked] = [
      await rawAsk(house.url, path, { headers }),
      await rawAsk(house.url, path, { method: 'HEAD', headers }),
    ];
    t.same([asked.status, asked.text], [200, ''], path);
    for (const name of ['content-type', 'content-length', 'etag', 'cache-control'])
      t.equal(asked.headers.get(name), got.headers.get(name), `${path}: ${name}`);
    isRated(t, asked, got.headers.has('x-ratelimit-limit'), path);
  }
  const refused: [number, string, object][] = [
    [404, '/nowhere', headers],
    [404, '/assistants/asst_none', headers],
    [404, `/assistants/${assistant.id}/publish`, headers],
    [401, '/assistants', {}],
    [422, '/assistants?limit=0', headers],
  ];
  for (const [status, path, sent] of refused) {
    const answer = await rawAsk(house.url, path, { method: 'HEAD', headers: sent as Record<string, string> });
    t.same([answer.status, answer.text], [status, ''], path);
    t.match(answer.headers.get('x-request-id'), /^req_/, path);
  }
  isRefused(
    t,
    await rawAsk(house.url, '/sessions/x/end', { method: 'GET', headers }),
    refusals.noRoute,
    'a path that has only POST',
  );
}

async function upgrades(t: Test, house: House): Promise<void> {
  const headers = {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  };
  const ask = (path: string, more: object = {}) => rawAsk(house.url, path, { headers: { ...headers, ...more } });
  isRefused(t, await ask('/nowhere'), refusals.noRoute);
  isRefused(t, await ask('/console/api/inspect'), refusals.missingKey, 'without a token');
  isRefused(
    t,
    await ask('/console/api/inspect', { Authorization: 'Bearer wrong' }),
    refusals.invalidKey,
    'with a wrong one',
  );
  isRefused(
    t,
    await ask('/console/api/inspect', { Authorization: ['Bearer a', 'Bearer b'] }),
    unrated(unreadableHeader('Authorization')),
    'with two',
  );
  const operator = { Authorization: `Bearer ${house.operatorToken}` };
  isRefused(
    t,
    await rawAsk(house.url, '/console/api/inspect', { headers: operator }),
    refusals.noRoute,
    'without the wish to upgrade',
  );
  isRefused(t, await rawAsk(house.url, '/console/api/inspect'), refusals.missingKey, 'without that and a token');
}
