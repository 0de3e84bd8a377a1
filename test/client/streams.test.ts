/**
 * A turn's stream: over cuts and silence each character once and one end; who leaves, who stops. PARLEY_CLIENT_CUTS
 * sets how many cuts there are.
 */
import t from 'tap';
import { TurnFailedError } from '../../src/client/failure.ts';
import type { TurnEvent } from '../../src/client/types.ts';
import { onProvider, sessionOf, synthetic, transcriptOf, until } from '../api/talk.ts';
import { delta, done, eventStream } from '../providers/model/provider.ts';
import { Random } from '../simulate/random.ts';
import { EventReader } from '../../src/client/stream.ts';
import { countingFetch, HandClock, openScene } from './scene.ts';

const scene = await openScene(t, 'tokens=60,delay_ms=1', { env: { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' } });
const { house, way, assistantId } = scene;
const cutsWanted = Number(process.env['PARLEY_CLIENT_CUTS'] ?? 60);

const textOf = (events: readonly TurnEvent[]): string =>
  events.map((event) => (event.type === 'message.delta' ? event.text : '')).join('');
const said = async (sessionId: string): Promise<any> => (await transcriptOf(house, sessionId)).at(-1);

/** A reply that the test writes piece by piece. */
async function openReply(t: Parameters<typeof onProvider>[0]) {
  let write = (_piece: string, _end?: boolean): void => {};
  const { assistant } = await onProvider(t, house, (response) => {
    response.writeHead(200, eventStream);
    write = (piece, end = false) => {
      response.write(delta(piece));
      if (end) response.end(delta('', 'stop') + done);
    };
    write('One');
  });
  const session = await house.session(assistant.id);
  return { session, write: (piece: string, end?: boolean) => write(piece, end) };
}

t.test('cuts at random bytes', async (t) => {
  const random = new Random(cutsWanted);
  let cuts = 0;
  for (let turns = 0; cuts < cutsWanted; turns++) {
    const { id } = await house.session(assistantId);
    way.fault = (line) => {
      if (!line.endsWith('/chat') && !line.endsWith('/events')) return null;
      // Some connections last to the end, else none ever would.
      if (random.next() < 0.05) return null;
      cuts++;
      return { kind: 'cut body', bytes: Math.floor(random.next() * 900) };
    };
    const turn = await scene.client().parley.sessions.chat(id, 'Hello');
    const events: TurnEvent[] = [];
    for await (const event of turn) events.push(event);
    const { content, status } = await said(id);
    const ends = events.filter(({ type }) => type === 'turn.completed');
    const started = events.filter(({ type }) => type === 'turn.started');
    const whole =
      textOf(events) === content &&
      status === 'completed' &&
      ends.length === 1 &&
      events.at(-1) === ends[0] &&
      started.length <= 1;
    if (!whole || turn.cursor !== [...content].length)
      t.match({ events, cursor: turn.cursor }, { content }, `turn ${turns} of seed ${cutsWanted}`);
  }
  way.fault = () => null;
  t.ok(cuts >= cutsWanted, `${cuts} cuts`);
});

t.test('after 45 s of silence the stream is resumed; a comment line ends a silence', async (t) => {
  const { session, write } = await openReply(t);
  way.fault = (line) => (line.endsWith('/chat') ? { kind: 'silence', bytes: 300 } : null);
  const { parley, clock } = scene.client();
  const turn = await parley.sessions.chat(session.id, 'Hello');
  const events = turn[Symbol.asyncIterator]();
  t.match((await events.next()).value, { type: 'turn.started' });
  t.match((await events.next()).value, { type: 'message.delta', text: 'One' });
  const resumes = (): number => way.count(`GET /sessions/${session.id}/turns/${turn.id}/events`);
  const next = events.next();
  clock.advance(44_999);
  await new Promise(setImmediate);
  t.equal(resumes(), 0);
  clock.advance(1);
  await until(async () => resumes() === 1);
  write(' two', true);
  t.match((await next).value, { type: 'message.delta', text: ' two' });
  t.match((await events.next()).value, { type: 'turn.completed' });
  t.same((await events.next()).done, true);
  t.equal(clock.timers, 0);
});

t.test('a late read is not silence, and a comment does not end a stream that has not begun', async (t) => {
  const clock = new HandClock();
  let feed!: ReadableStreamDefaultController<Uint8Array>;
  const body = new ReadableStream<Uint8Array>({ start: (controller) => void (feed = controller) });
  let closed = 0;
  const answer = {
    response: new Response(body),
    url: 'http://service',
    signal: new AbortController().signal,
    keep() {},
    within: <T>(promise: Promise<T>) => promise,
    close: () => void closed++,
  };
  const reader = new EventReader(answer, { clock, silenceMs: 45_000 });
  clock.advance(100_000);
  const first = reader.next();
  clock.advance(44_000);
  feed.enqueue(new TextEncoder().encode(': still here\n\n'));
  t.same(await first, []);
  const second = reader.next();
  clock.advance(44_000);
  t.equal(closed, 0, 'the comment ended the silence');
  clock.advance(1_000);
  t.equal(closed, 1);
  feed.close();
  await second;
});

t.test('break leaves the turn running, and a later iteration goes on from the cursor', async (t) => {
  const { session, write } = await openReply(t);
  const turn = await scene.client().parley.sessions.chat(session.id, 'Hello');
  t.match(turn.requestId, /^req_/);
  t.equal(turn.cursor, null);
  for await (const event of turn) if (event.type === 'message.delta') break;
  t.equal(turn.cursor, 3);
  t.equal((await sessionOf(house, session.id)).active_turn_id, turn.id);
  write(' two', true);
  const rest: TurnEvent[] = [];
  for await (const event of turn) rest.push(event);
  t.match(rest, [{ type: 'message.delta', text: ' two' }, { type: 'turn.completed' }]);
  t.equal(await turn.text(), 'One two', 'the text is whole');
  for await (const event of turn) t.fail(`after its end: ${event.type}`);
});

t.test('a signal leaves at once with its reason, and the turn runs on; abort stops it', async (t) => {
  const { session, write } = await openReply(t);
  const leaving = new AbortController();
  const turn = await scene.client().parley.sessions.chat(session.id, 'Hello', { signal: leaving.signal });
  const events = turn[Symbol.asyncIterator]();
  await events.next();
  await events.next();
  const reason = new Error('enough');
  const next = t.rejects(events.next(), reason);
  leaving.abort(reason);
  await next;
  t.equal((await sessionOf(house, session.id)).active_turn_id, turn.id);
  await t.rejects(turn.text(), reason);
  write(' two');
  const again = scene.client().parley.turns.resume(session.id, turn.id, { after: turn.cursor });
  const text = again.text();
  await until(async () => again.cursor === 7);
  t.match(await turn.abort(), { object: 'turn', id: turn.id, status: 'aborted' });
  t.equal(await text, ' two');
  t.match(await again.abort(), { status: 'aborted' }, 'on a turn that has ended it changes nothing');
  t.match(await said(session.id), { content: 'One two', stop_reason: 'aborted' });
});

t.test('every wait ends at once with the signal', async (t) => {
  const { id } = await house.session(assistantId);
  const waits = { 'retry-after': '50' };
  const body = '{"error":{"type":"t","code":"api_error","message":"m"},"request_id":"r"}';
  const faults = [
    { kind: 'answer', status: 429, headers: waits, body },
    { kind: 'answer', status: 503, headers: waits, body },
    { kind: 'hang' },
    { kind: 'silence', bytes: 10 },
  ] as const;
  for (const fault of faults) {
    const before = way.asked.length;
    way.fault = () => fault;
    // The clock stands still, so nothing else can end the wait.
    let waits = 0;
    const { fetch, heads } = countingFetch();
    const { parley, clock } = scene.client({
      onRetry: () => waits++,
      fetch: fetch,
    });
    const leaving = new AbortController();
    const call = t.rejects(
      parley.sessions.get(id, { signal: leaving.signal }),
      { message: 'enough' },
      JSON.stringify(fault),
    );
    await until(
      async () =>
        way.asked.length > before && (fault.kind === 'answer' ? waits === 1 : fault.kind === 'hang' || heads() === 1),
    );
    leaving.abort(new Error('enough'));
    await call;
    t.equal(clock.timers, 0);
    t.equal(way.asked.length, before + 1);
  }
  way.fault = () => null;
  const sent = way.asked.length;
  await t.rejects(scene.client().parley.sessions.get(id, { signal: AbortSignal.abort(new Error('before')) }), {
    message: 'before',
  });
  t.equal(way.asked.length, sent, 'and one aborted before is not sent');
});

t.test('an `error` event throws, with what was said before', async (t) => {
  const { id } = await synthetic(house, 'tokens=10,fail_at=4');
  const session = await house.session(id);
  const turn = await scene.client().parley.sessions.chat(session.id, 'Hello');
  const events: TurnEvent[] = [];
  const error = await (async () => {
    for await (const event of turn) events.push(event);
  })().then(
    () => null,
    (thrown: unknown) => thrown as TurnFailedError,
  );
  t.ok(error instanceof TurnFailedError);
  t.match(error, {
    code: 'assistant_unavailable',
    type: 'service_unavailable',
    status: null,
    requestId: turn.requestId,
    retryable: false,
  });
  t.equal(error?.partial, (await said(session.id)).content);
  t.equal(error?.partial, textOf(events));
  const failed = { partial: error!.partial } as Error & { partial: string };
  await t.rejects(turn.text(), failed, 'and so it does each time');
  await t.rejects(
    scene.client().parley.turns.resume(session.id, turn.id).text(),
    failed,
    'on a turn that is over as well',
  );
});

t.test('a turn is read by one at a time', async (t) => {
  const { session, write } = await openReply(t);
  const turn = await scene.client().parley.sessions.chat(session.id, 'Hello');
  const events = turn[Symbol.asyncIterator]();
  await events.next();
  await t.rejects(turn.text(), TypeError);
  write(' two', true);
  await events.return();
  t.equal(await turn.text(), 'One two');
});

t.test('the network or the page comes back: a quiet stream is resumed, and a wait for it is over', async (t) => {
  const page = Object.assign(new EventTarget(), { visibilityState: 'hidden' });
  const window = new EventTarget();
  const [add, remove] = [window.addEventListener.bind(window), window.removeEventListener.bind(window)];
  const before = Object.getOwnPropertyDescriptor(globalThis, 'navigator');
  for (const [name, value] of Object.entries({
    navigator: { onLine: true },
    document: page,
    addEventListener: add,
    removeEventListener: remove,
  })) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  }
  t.teardown(() => {
    for (const name of ['document', 'addEventListener', 'removeEventListener', 'navigator'])
      Reflect.deleteProperty(globalThis, name);
    if (before !== undefined) Object.defineProperty(globalThis, 'navigator', before);
  });
  const { session, write } = await openReply(t);
  way.fault = (line) => (line.endsWith('/chat') ? { kind: 'silence', bytes: 300 } : null);
  let waits = 0;
  const { parley, clock } = scene.client({ onRetry: () => waits++ });
  const turn = await parley.sessions.chat(session.id, 'Hello');
  const resumes = (): number => way.count(`GET /sessions/${session.id}/turns/${turn.id}/events`);
  const events = turn[Symbol.asyncIterator]();
  await events.next();
  await events.next();
  const next = events.next();
  clock.advance(2_000);
  page.dispatchEvent(new Event('visibilitychange'));
  await new Promise(setImmediate);
  t.equal(resumes(), 0, 'it went away, and did not come back');
  page.visibilityState = 'visible';
  way.fault = () => ({ kind: 'never sent' });
  page.dispatchEvent(new Event('visibilitychange'));
  await until(async () => resumes() === 1 && waits === 1);
  way.fault = () => null;
  window.dispatchEvent(new Event('online'));
  await until(async () => resumes() === 2);
  write(' two', true);
  t.match((await next).value, { text: ' two' });
  await events.return();
});
