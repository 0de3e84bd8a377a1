/** Reports of the desk beyond its own requests (contract 23): events of webhooks, and calls that a take ends. */
import t, { type Test } from 'tap';
import { openReceiver } from '../webhook-receiver.ts';
import { opened } from './caller.ts';
import { edge, leased, openHouse, type House } from './house.ts';
import { end, say, synthetic, transcriptOf } from './talk.ts';

const types = ['session.waiting', 'session.taken', 'session.returned'];

const inDesk = (house: House, id: string, verb: string): Promise<any> =>
  house.console(`/workspaces/${house.workspaceId}/sessions/${id}/${verb}`, { method: 'POST' });
const askFor = (house: House, id: string): Promise<any> => house.ask(`/sessions/${id}/ask`, { method: 'POST' });

for (const store of leased ? ['redis'] : ['memory:', 'lmdb:./data'])
  t.test(`${store} (${edge})`, async (t) => {
    const env = { PARLEY_STORE: store, PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' };
    const house = await openHouse(t, { env: leased ? {} : env });
    await t.test('the metrics have the numbers of the desk at once', (t) => counts(t, house));
    await t.test('each change that is stored is one event of a webhook', (t) => reportsOnce(t, house));
    await t.test('a take ends the call of its session, and the reply at what was heard', (t) => endsCall(t, house));
  });

async function counts(t: Test, house: House): Promise<void> {
  const { id: assistantId } = await synthetic(house, 'tokens=1', { desk: { enabled: true } });
  const [{ id }, { id: other }] = [await house.session(assistantId), await house.session(assistantId)];
  const numbers = async (): Promise<string[]> => {
    const { text } = await house.ask('/metrics', { key: null });
    return [...text.matchAll(/^parley_desk_sessions\{state="\w+"\} (\d+)$/gm)].map(([, number]) => number!);
  };
  for (const [change, waiting, person] of [
    [() => askFor(house, id), '1', '0'],
    [() => askFor(house, other), '2', '0'],
    [() => inDesk(house, id, 'take'), '1', '1'],
    [() => inDesk(house, id, 'take'), '1', '1'],
    [() => inDesk(house, other, 'take'), '0', '2'],
    [() => inDesk(house, other, 'release'), '1', '1'],
    [() => inDesk(house, id, 'return'), '1', '0'],
  ] as const) {
    await change();
    t.same(await numbers(), [waiting, person]);
  }
  for (const one of [id, other]) await end(house, one);
}

async function reportsOnce(t: Test, house: House): Promise<void> {
  const receiver = await openReceiver(t);
  const { json: webhook } = await house.console(`/workspaces/${house.workspaceId}/webhooks`, {
    body: { url: receiver.url, events: types },
  });
  receiver.secret = webhook.secret;
  // Each first attempt fails: an event comes again under its id.
  const seen = new Set<string>();
  receiver.answer = (id) => (seen.has(id) ? 204 : (seen.add(id), 500));
  const desk = { enabled: true, wait_seconds: 10 };
  const { id: assistantId } = await synthetic(house, 'tokens=1', { desk });
  const { id } = await house.session(assistantId, { metadata: { order: '7' } });
  const { id: left } = await house.session(assistantId);
  await askFor(house, left);
  const changes: readonly [() => Promise<any>, string | null][] = [
    [() => askFor(house, id), 'session.waiting waiting'],
    [() => askFor(house, id), null],
    [() => inDesk(house, id, 'take'), 'session.taken person operator'],
    [() => inDesk(house, id, 'take'), null],
    [() => askFor(house, id), null],
    [() => inDesk(house, id, 'release'), 'session.waiting waiting'],
    [() => inDesk(house, id, 'take'), 'session.taken person operator'],
    [() => inDesk(house, id, 'return'), 'session.returned assistant'],
  ];
  for (const [change] of changes) t.equal((await change()).status, 200);
  const stored = changes.flatMap(([, event]) => event ?? []);
  // The session that nobody takes: it waits, and goes back.
  await receiver.until(
    (received) => new Set(received.filter(({ answered }) => answered === 204).map(({ id }) => id)).size === 7,
  );
  const told = new Map(receiver.received.map((one) => [one.id, one]));
  t.equal(told.size, 7, 'an id for each change');
  t.ok(receiver.received.every(({ isSigned }) => isSigned));
  const of = (sessionId: string): string[] =>
    [...told.values()]
      .map(({ event }) => event)
      .filter(({ data }) => data['session_id'] === sessionId)
      .sort((one, other) => one.timestamp.localeCompare(other.timestamp))
      .map(({ type, data }) => [type, data['status'], data['person']].filter((text) => text !== null).join(' '));
  t.same(of(id).sort(), [...stored].sort());
  t.same(of(left), ['session.waiting waiting', 'session.returned assistant']);
  const first = receiver.received.find(({ event }) => event.data['session_id'] === id)!;
  t.match(first.event.data, { assistant_id: assistantId, turn_id: null, channel: 'api', error_code: null });
  t.match(first.event.data, { metadata: { order: '7' }, person: null });
  await end(house, id);
}

async function endsCall(t: Test, house: House): Promise<void> {
  const caller = await opened(house, { model: 'tokens=400', characterMs: 60 });
  const { id } = caller.session;
  caller.send({ type: 'message', text: 'Tell me a story' });
  const { message_id: messageId } = await caller.until('message.delta');
  const taken = await inDesk(house, id, 'take');
  t.equal(taken.status, 200, taken.text);
  const stored = (await transcriptOf(house, id)).find((message) => message.id === messageId);
  t.match(await caller.until('ended'), { reason: 'person' });
  t.equal(await caller.closed, 1000);
  const later = (await transcriptOf(house, id)).find((message) => message.id === messageId);
  t.same(later, stored, 'not one character after the take');
  t.match(later, { status: 'partial', stop_reason: 'taken' });
  const heard = caller.textOf(messageId);
  t.ok(heard.startsWith(later.content) || later.content.startsWith(heard), 'what was heard');
  t.match(await (await say(house, id)).rest(), [{ event: 'message.accepted' }]);
}
