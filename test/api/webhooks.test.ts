/** Webhooks of a workspace in the console's API (contract 17). */
import t, { type Test } from 'tap';
import { edge, openHouse, type House } from './house.ts';

const events = ['turn.completed', 'turn.failed', 'session.ended', 'session.expired'];
const url = 'https://crm.example.com/parley';
const path = (house: House, id = ''): string => `/workspaces/${house.workspaceId}/webhooks${id && `/${id}`}`;

/** The message of a refusal that names the field. */
const naming = (field: string): RegExp => new RegExp(`\\b${field}\\b`);

t.test(edge, async (t) => {
  await t.test('a webhook is created, read, changed and deleted, and POST alone shows its secret', lifecycle);
  await t.test('a wrong url, events or enabled is refused with 422 and the name of the field', wrong);
  await t.test('a sixth webhook is refused with 422 `webhooks`, also when all are created at once', sixth);
  await t.test('[O2] each change is one row of the audit, without the secret', audit);
  await t.test('an unknown id or workspace is refused with 404', unknown);
});

async function lifecycle(t: Test): Promise<void> {
  const house = await openHouse(t);
  const created = await house.console(path(house), { body: { url, events } });
  t.equal(created.status, 201);
  const { secret, ...webhook } = created.json;
  t.match(secret, /^whsec_[A-Za-z0-9+/]{32}$/);
  t.match(webhook, { id: /^whk_[0-9a-z]{26}$/, object: 'webhook', url, events, enabled: true });
  t.strictSame(Object.keys(webhook), ['id', 'object', 'url', 'events', 'enabled', 'created_at', 'updated_at']);
  t.strictSame((await house.console(path(house, webhook.id))).json, webhook);
  t.strictSame((await house.console(path(house))).json, {
    object: 'list',
    data: [webhook],
    has_more: false,
    next_cursor: null,
  });
  const patched = await house.console(path(house, webhook.id), {
    method: 'PATCH',
    body: { enabled: false, events: ['turn.failed'] },
  });
  t.equal(patched.status, 200);
  t.match(patched.json, { id: webhook.id, url, events: ['turn.failed'], enabled: false });
  t.notOk('secret' in patched.json);
  t.equal((await house.console(path(house, webhook.id), { method: 'DELETE' })).status, 204);
  t.equal((await house.console(path(house, webhook.id))).status, 404);
  t.equal((await house.console(path(house, webhook.id), { method: 'DELETE' })).status, 404);
}

async function wrong(t: Test): Promise<void> {
  const house = await openHouse(t);
  const { id } = (await house.console(path(house), { body: { url, events } })).json;
  const bodies: readonly [object, string][] = [
    [{ url: 'no address' }, 'url'],
    [{ url: 'ftp://crm.example.com/' }, 'url'],
    [{ url: 7 }, 'url'],
    [{ events: [] }, 'events'],
    [{ events: ['turn.failed', 'turn.failed'] }, 'events'],
    [{ events: ['turn.began'] }, 'events'],
    [{ events: 'turn.failed' }, 'events'],
    [{ enabled: 'yes' }, 'enabled'],
  ];
  for (const [fields, param] of bodies) {
    const post = await house.console(path(house), { body: { url, events, ...fields } });
    t.match(post, { status: 422, json: { error: { message: naming(param) } } }, JSON.stringify(fields));
    const patch = await house.console(path(house, id), { method: 'PATCH', body: fields });
    t.match(patch, { status: 422, json: { error: { message: naming(param) } } }, JSON.stringify(fields));
  }
  t.match(await house.console(path(house), { body: { events } }), {
    status: 422,
    json: { error: { message: naming('url') } },
  });
  t.match(await house.console(path(house), { body: { url } }), {
    status: 422,
    json: { error: { message: naming('events') } },
  });
  const absent = { url: null, events: null, enabled: null };
  t.match(await house.console(path(house, id), { method: 'PATCH', body: absent }), {
    status: 200,
    json: { url, events, enabled: true },
  });
}

async function sixth(t: Test): Promise<void> {
  const house = await openHouse(t);
  const made = await Promise.all(
    Array.from({ length: 9 }, () => house.console(path(house), { body: { url, events } })),
  );
  t.equal(made.filter(({ status }) => status === 201).length, 5);
  for (const { status, json } of made.filter(({ status }) => status !== 201))
    t.match({ status, json }, { status: 422, json: { error: { message: naming('webhooks') } } });
  const { id } = made.find(({ status }) => status === 201)!.json;
  await house.console(path(house, id), { method: 'DELETE' });
  t.equal((await house.console(path(house), { body: { url, events } })).status, 201, 'a deleted one makes room');
}

async function unknown(t: Test): Promise<void> {
  const house = await openHouse(t);
  for (const method of ['GET', 'DELETE'])
    t.equal((await house.console(path(house, 'whk_1m2zgb4c00wq5s8e1k7n3dxyvt'), { method })).status, 404, method);
  const body = { enabled: false };
  const patch = await house.console(path(house, 'whk_1m2zgb4c00wq5s8e1k7n3dxyvt'), { method: 'PATCH', body });
  t.equal(patch.status, 404);
  const elsewhere = '/workspaces/wks_1m2zgb4c00wq5s8e1k7n3dxyvt/webhooks';
  t.equal((await house.console(elsewhere)).status, 404);
  t.equal((await house.console(elsewhere, { body: { url, events } })).status, 404);
}

async function audit(t: Test): Promise<void> {
  const house = await openHouse(t);
  const { id, secret } = (await house.console(path(house), { body: { url, events } })).json;
  await house.console(path(house, id), { method: 'PATCH', body: { enabled: false } });
  await house.console(path(house, id), { method: 'PATCH', body: { enabled: false } });
  await house.console(path(house, id), { method: 'DELETE' });
  const { json, text } = await house.console(`/audit?object_id=${id}`);
  t.same(
    json.data.map((row: any) => `${row.action} ${row.object_type}`),
    ['delete', 'update', 'create'].map((action) => `${action} webhook`),
  );
  t.same(json.data[1].changes, [{ path: 'enabled', before: true, after: false }]);
  t.notOk(text.includes(secret) || text.includes('sealed'));
}
