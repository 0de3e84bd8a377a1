/**
 * The content types of bodies: JSON alone on the console's paths, where a browser may be made to send others (contract
 * 12).
 */
import t, { type Test } from 'tap';
import { edge, openHouse, type House } from './house.ts';
import { rawAsk } from './raw.ts';
import { isRefused, refusals, unrated } from './refusal.ts';

const path = '/console/api/workspaces';
const body = JSON.stringify({ name: 'typed' });

t.test(edge, async (t) => {
  const house = await openHouse(t);
  await t.test("a body of the console's API must be JSON", (t) => typed(t, house));
  await t.test('a request without a body needs no content type', (t) => bodiless(t, house));
  await t.test('the order of checks', (t) => order(t, house));
  await t.test('a body of the API may have any content type', (t) => untyped(t, house));
});

const sent = (house: House, at: string, type: string | string[] | null, text: string, method = 'POST') =>
  rawAsk(house.url, at, {
    method,
    headers: {
      Authorization: `Bearer ${house.operatorToken}`,
      'Content-Length': String(text.length),
      ...(type !== null && { 'Content-Type': type }),
    },
    body: text,
  });

const json = [
  'application/json',
  'application/json; charset=utf-8',
  'Application/JSON;charset="utf-8"',
  'application/merge-patch+json',
  'application/vnd.any+json; a=b',
];
const other = [
  ...[
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'text/html',
    'application/octet-stream',
    'application/jsonp',
    'application/json5',
  ],
  // A browser takes these for text/plain and sends them across sites without a preflight.
  ...['text/plain; application/json', 'text/plain; a=application/json', 'text/plain;+json'],
  ...[
    '',
    'json',
    'application/',
    '/json',
    '+json',
    'application/json, text/plain',
    'text/plain, application/json',
    'application json',
    '*/*',
  ],
];

async function typed(t: Test, house: House): Promise<void> {
  t.equal((await sent(house, path, null, body)).status, 201, 'that says nothing');
  for (const type of json) t.equal((await sent(house, path, type, body)).status, 201, type);
  for (const type of other) isRefused(t, await sent(house, path, type, body), unrated(refusals.notJson), type);
  isRefused(
    t,
    await sent(house, path, ['application/json', 'application/json'], body),
    unrated(refusals.notJson),
    'twice',
  );
  isRefused(
    t,
    await sent(house, `${path}/${house.workspaceId}`, 'text/plain', body, 'PATCH'),
    unrated(refusals.notJson),
    'PATCH',
  );
  t.equal((await house.console('/workspaces?limit=100')).json.data.length, 2 + json.length, 'nothing of them was done');
}

async function bodiless(t: Test, house: House): Promise<void> {
  const assistant = await house.assistant();
  const at = `${path}/${house.workspaceId}/assistants/${assistant.id}`;
  isRefused(
    t,
    await sent(house, `${at}/disable`, 'text/plain', '{}'),
    unrated(refusals.notJson),
    'a body that nobody wants',
  );
  t.equal(
    (await house.console(`/workspaces/${house.workspaceId}/assistants/${assistant.id}`)).json.status,
    'published',
  );
  t.equal(
    (await sent(house, `${at}/disable`, 'text/plain', '')).status,
    200,
    'no body, whatever its type is said to be',
  );
  isRefused(
    t,
    await sent(house, at, 'application/x-www-form-urlencoded', 'a=b', 'DELETE'),
    unrated(refusals.notJson),
    'DELETE',
  );
  t.equal((await sent(house, at, 'text/plain', '', 'DELETE')).status, 204);
}

async function order(t: Test, house: House): Promise<void> {
  const malformed = await sent(house, path, 'text/plain', '{');
  isRefused(t, malformed, unrated(refusals.notJson), 'before the body is parsed');
  const stranger = await rawAsk(house.url, path, {
    method: 'POST',
    headers: { Authorization: 'Bearer x', 'Content-Type': 'text/plain' },
    body,
  });
  isRefused(t, stranger, refusals.invalidKey, 'behind the authentication');
}

async function untyped(t: Test, house: House): Promise<void> {
  const assistant = await house.assistant();
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', '']) {
    const headers = { Authorization: `Bearer ${house.key}`, 'Content-Type': type };
    const answer = await rawAsk(house.url, '/sessions', {
      method: 'POST',
      headers,
      body: JSON.stringify({ assistant_id: assistant.id }),
    });
    t.equal(answer.status, 201, `whatever its type is said to be: ${type}`);
  }
}
