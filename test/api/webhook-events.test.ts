/** Events of webhooks, as a receiver gets them (contract 17). */
import t, { type Test } from 'tap';
import { openReceiver, type Received, type Receiver } from '../webhook-receiver.ts';
import { edge, houseAt, leased, openHouse, openWorkspace, type House } from './house.ts';
import { begin, say, synthetic, until } from './talk.ts';

const all = ['turn.completed', 'turn.failed', 'session.ended', 'session.expired'];

interface Scene {
  readonly house: House;
  readonly receiver: Receiver;
  readonly webhook: any;
  /** The path of the webhook, or below it. */
  path(rest?: string): string;
}

type StoreName = 'memory' | 'lmdb' | 'redis';
const stores: readonly StoreName[] = leased ? ['redis'] : ['memory', 'lmdb'];

let onDisk: Promise<House> | undefined;

/** A new workspace on a server with this store. */
async function openOn(store: StoreName): Promise<House> {
  if (store !== 'lmdb') return openWorkspace();
  onDisk ??= openHouse(t, { env: { PARLEY_STORE: 'lmdb:./data', PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' } });
  return houseAt(await onDisk, { workspace: 'new' });
}

async function openScene(t: Test, store: StoreName, events: readonly string[] = all): Promise<Scene> {
  const receiver = await openReceiver(t);
  const house = await openOn(store);
  const path = `/workspaces/${house.workspaceId}/webhooks`;
  const { json: webhook } = await house.console(path, { body: { url: receiver.url, events } });
  receiver.secret = webhook.secret;
  return { house, receiver, webhook, path: (rest = '') => `${path}/${webhook.id}${rest}` };
}

/** A turn of the synthetic model to its end. */
async function turn({ house }: Scene, model = 'tokens=2', fields: object = {}) {
  const assistant = await synthetic(house, model, fields);
  const { id, stream } = await begin(house, assistant.id);
  await stream.rest();
  return { id, turnId: stream.turnId, assistantId: assistant.id as string };
}

const deliveries = async ({ house, path }: Scene): Promise<any[]> =>
  (await house.console(path('/deliveries'))).json.data;

const of = (received: readonly Received[], sessionId: string): Received[] =>
  received.filter(({ event }) => event.data['session_id'] === sessionId);

t.jobs = stores.length;
for (const store of stores)
  t.test(`${store} (${edge})`, { buffered: true }, async (t) => {
    t.jobs = 4;
    await Promise.all(
      Object.entries({
        'each end of a turn or session is one signed event with the fields of the contract': ends,
        'a refused event comes again with its id and bytes, and the list shows its attempts': again,
        'a webhook gets the events that it names, none of a trial and none while it is disabled': chosen,
        '410 disables the webhook, and its waiting deliveries fail': gone,
        'a retry sends a delivery again, whatever its status': retried,
        'nothing is sent once the webhook is deleted': deleted,
        'a session that expires unseen is an event within 60 s': expired,
        "a turn that its session's expiry cut is turn.failed": cut,
        'the list has the newest 100 deliveries, in pages': listed,
      }).map(([name, test]) => t.test(name, { buffered: true }, (t: Test) => test(t, store))),
    );
  });

async function ends(t: Test, store: StoreName): Promise<void> {
  const scene = await openScene(t, store);
  const { receiver, house } = scene;
  const completed = await turn(scene);
  const failed = await turn(scene, 'tokens=9,fail_at=2');
  const { id: assistantId } = await synthetic(house, 'tokens=9,hang_at=2');
  const hanging = await house.session(assistantId, { metadata: { order: '7' } });
  const stream = await say(house, hanging.id);
  while ((await stream.next())!.event !== 'message.delta');
  await house.ask(`/sessions/${hanging.id}/turns/${stream.turnId}/abort`, { method: 'POST' });
  await stream.rest();
  await house.ask(`/sessions/${hanging.id}/end`, { method: 'POST' });
  await receiver.until((received) => received.length === 4);
  t.ok(
    receiver.received.every(({ isSigned }) => isSigned),
    'signed',
  );
  t.equal(new Set(receiver.received.map(({ id }) => id)).size, 4, 'an id each');
  const dataOf = (sessionId: string) => of(receiver.received, sessionId).map(({ event }) => event);
  t.match(dataOf(completed.id), [
    {
      type: 'turn.completed',
      timestamp: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
      data: {
        session_id: completed.id,
        assistant_id: completed.assistantId,
        turn_id: completed.turnId,
        channel: 'api',
        status: 'completed',
        error_code: null,
        metadata: {},
      },
    },
  ]);
  t.same(Object.keys(dataOf(completed.id)[0]!), ['type', 'timestamp', 'data']);
  t.same(Object.keys(dataOf(completed.id)[0]!.data), [
    ...['session_id', 'assistant_id', 'turn_id', 'channel', 'status', 'error_code', 'metadata'],
  ]);
  t.match(dataOf(failed.id), [
    { type: 'turn.failed', data: { turn_id: failed.turnId, status: 'failed', error_code: 'assistant_unavailable' } },
  ]);
  const [first, second] = dataOf(hanging.id).sort((one, other) => (one.type < other.type ? 1 : -1));
  t.match(first, { type: 'turn.completed', data: { status: 'aborted', error_code: null, metadata: { order: '7' } } });
  t.match(second, {
    type: 'session.ended',
    data: { turn_id: null, status: 'ended', error_code: null, metadata: { order: '7' } },
  });
  for (const { headers } of receiver.received) {
    t.equal(headers['content-type'], 'application/json');
    t.notOk('authorization' in headers);
  }
}

async function again(t: Test, store: StoreName): Promise<void> {
  const scene = await openScene(t, store, ['turn.completed']);
  const { receiver } = scene;
  receiver.answer = () => (receiver.received.length === 0 ? 500 : 200);
  await turn(scene);
  await receiver.until((received) => received.length === 1);
  const [waiting] = await until(async () => {
    const list = await deliveries(scene);
    return list[0]?.attempts === 1 ? list : null;
  });
  t.match(waiting, { id: receiver.received[0]!.id, object: 'webhook_delivery', type: 'turn.completed' });
  t.match(waiting, { status: 'pending', attempts: 1 });
  t.ok(Math.abs(waiting.next_at - Date.now() / 1000) < 60);
  await receiver.until((received) => received.length === 2);
  const [first, second] = receiver.received;
  t.equal(second!.id, first!.id);
  t.equal(second!.text, first!.text);
  t.ok(second!.isSigned);
  await until(async () => (await deliveries(scene))[0].status === 'delivered');
  t.match(await deliveries(scene), [{ status: 'delivered', attempts: 2, next_at: null }]);
}

async function chosen(t: Test, store: StoreName): Promise<void> {
  const scene = await openScene(t, store, ['session.ended']);
  const { house, receiver, path } = scene;
  const end = (id: string) => house.ask(`/sessions/${id}/end`, { method: 'POST' });
  const assistant = await synthetic(house, 'tokens=1');
  await house.console(path(), { method: 'PATCH', body: { enabled: false } });
  await end((await house.session(assistant.id)).id);
  await house.console(path(), { method: 'PATCH', body: { enabled: true } });
  const { json: trial } = await house.console(`/workspaces/${house.workspaceId}/assistants/${assistant.id}/trials`, {
    body: {},
  });
  await house.console(`/workspaces/${house.workspaceId}/sessions/${trial.id}/end`, { method: 'POST' });
  const { id } = await turn(scene);
  await end(id);
  await receiver.until((received) => received.length > 0);
  t.match(
    receiver.received.map(({ event }) => event),
    [{ type: 'session.ended', data: { session_id: id } }],
  );
  t.equal((await deliveries(scene)).length, 1);
}

async function gone(t: Test, store: StoreName): Promise<void> {
  const scene = await openScene(t, store);
  const { receiver, path, house } = scene;
  // The first event waits for its second attempt.
  receiver.answer = () => (receiver.received.length === 0 ? [503, { 'retry-after': '3600' }] : 410);
  await turn(scene);
  await until(async () => (await deliveries(scene))[0]?.attempts === 1);
  const [waiting] = await deliveries(scene);
  t.ok(waiting.next_at > Date.now() / 1000 + 3000, 'Retry-After is obeyed');
  await turn(scene);
  await until(async () => (await house.console(path())).json.enabled === false);
  await until(async () => (await deliveries(scene)).every(({ status }) => status === 'failed'));
  t.match(await deliveries(scene), [{ next_at: null }, { next_at: null }]);
  await turn(scene);
  t.equal((await deliveries(scene)).length, 2, 'no event is made');
}

async function retried(t: Test, store: StoreName): Promise<void> {
  const scene = await openScene(t, store, ['turn.completed']);
  const { receiver, path, house } = scene;
  await turn(scene);
  await until(async () => (await deliveries(scene))[0]?.status === 'delivered');
  const [{ id }] = await deliveries(scene);
  const retry = await house.console(path(`/deliveries/${id}/retry`), { method: 'POST' });
  t.match(retry, { status: 202, json: { id, object: 'webhook_delivery', status: 'pending', attempts: 1 } });
  await receiver.until((received) => received.length === 2);
  t.equal(receiver.received[1]!.id, id);
  t.equal(receiver.received[1]!.text, receiver.received[0]!.text);
  await until(async () => (await deliveries(scene))[0].attempts === 2);
  const nobody = `dlv_${'0'.repeat(26)}`;
  t.equal((await house.console(path(`/deliveries/${nobody}/retry`), { method: 'POST' })).status, 404);
}

async function deleted(t: Test, store: StoreName): Promise<void> {
  const scene = await openScene(t, store, ['turn.completed']);
  const other = await openReceiver(t);
  const { receiver, path, house } = scene;
  receiver.answer = () => 500;
  await turn(scene);
  await until(async () => (await deliveries(scene))[0]?.attempts === 1);
  await house.console(path(), { method: 'DELETE' });
  t.equal((await house.console(path('/deliveries'))).status, 404);
  // A retry of the deleted one would be due before the second event of the other.
  const body = { url: other.url, events: ['turn.completed'] };
  await house.console(`/workspaces/${house.workspaceId}/webhooks`, { body });
  other.answer = () => (other.received.length === 0 ? [500, { 'retry-after': '7' }] : 200);
  await turn(scene);
  await other.until((received) => received.length === 2);
  t.equal(receiver.received.length, 1);
}

async function expired(t: Test, store: StoreName): Promise<void> {
  const scene = await openScene(t, store, ['session.expired']);
  const { receiver, house } = scene;
  const assistant = await synthetic(house, 'tokens=1', { max_call_seconds: 1 });
  const { id, expires_at: expiresAt } = await house.session(assistant.id);
  await receiver.until((received) => received.length === 1);
  const [{ event }] = receiver.received as [Received];
  t.match(event, { type: 'session.expired', data: { session_id: id, turn_id: null, status: 'expired' } });
  t.comment(`after ${Math.round(Date.now() / 1000 - expiresAt)} s`);
}

async function cut(t: Test, store: StoreName): Promise<void> {
  const scene = await openScene(t, store, ['turn.failed']);
  const { receiver, house } = scene;
  const assistant = await synthetic(house, 'tokens=9,hang_at=2', { max_call_seconds: 3 });
  const { stream } = await begin(house, assistant.id);
  await stream.rest();
  await receiver.until((received) => received.length === 1);
  t.match(receiver.received[0]!.event, {
    type: 'turn.failed',
    data: { turn_id: stream.turnId, status: 'failed', error_code: 'session_expired' },
  });
}

async function listed(t: Test, store: StoreName): Promise<void> {
  const scene = await openScene(t, store, ['session.ended']);
  const { house, receiver, path } = scene;
  const assistant = await synthetic(house, 'tokens=1');
  const ids: string[] = [];
  for (let count = 0; count < 103; count++) {
    const { id } = await house.session(assistant.id);
    await house.ask(`/sessions/${id}/end`, { method: 'POST' });
    ids.push(id);
  }
  await receiver.until((received) => new Set(received.map(({ id }) => id)).size === ids.length);
  const list = await deliveries(scene);
  t.equal(list.length, 100);
  const newest = new Map(receiver.received.map(({ id, event }) => [id, event.data['session_id']]));
  t.same(
    list.map(({ id }) => newest.get(id)),
    ids.slice(3).reverse(),
  );
  const page = (await house.console(path('/deliveries?limit=30'))).json;
  t.match(page, { has_more: true, data: list.slice(0, 30).map(({ id }) => ({ id })) });
  const next = (await house.console(path(`/deliveries?limit=100&after=${page.next_cursor}`))).json;
  t.match(next, { has_more: false, data: list.slice(30).map(({ id }) => ({ id })) });
}
