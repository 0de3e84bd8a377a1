/** Callers share the voice processes: who has much spoken or transcribed keeps nobody else waiting (contract 8). */
import t, { type Test } from 'tap';
import { openHouse, type House } from '../../api/house.ts';
import { linked, Visit } from '../../pages/link/visits.ts';
import { WheelClock } from '../../../src/base/clock.ts';
import { voiceCaller, type Principal } from '../../../src/conversation/principal.ts';
import { VoiceProcesses } from '../../../src/providers/voice/processes.ts';

const signal = new AbortController().signal;

/** Names the callers in the order in which their orders end. */
async function ends(orders: readonly (readonly [caller: string, order: () => Promise<unknown>])[]): Promise<string> {
  const ended: string[] = [];
  await Promise.all(orders.map(async ([caller, order]) => order().then(() => ended.push(caller))));
  return ended.join('');
}

/** Many orders of one caller and then one of another. */
const crowded = (order: (caller: string) => () => Promise<unknown>) =>
  ends([...Array.from({ length: 8 }, () => ['a', order('a')] as const), ['b', order('b')]]);

t.test('one process serves its requests in turn', async (t) => {
  const clock = new WheelClock();
  const processes = new VoiceProcesses({ count: 1, clock });
  t.teardown(() => {
    processes.close();
    clock.stop();
  });
  const order = {
    text: 'Hello there, how are you today?',
    voice: { name: 'kal16', file: null },
    speed: 1,
    timed: false,
  };
  await t.test('speaks for a caller who comes after another with many sentences', async (t) => {
    const speak = (caller: string) => () => processes.speak(order, 'speech', caller, signal);
    t.match(await crowded(speak), /^aa?b/);
    const ahead = (caller: string) => () => processes.speak(order, caller === 'a' ? 'speech' : 'ahead', caller, signal);
    t.match(await crowded(ahead), /^aa?b/, 'also ahead of its time');
  });
  await t.test('transcribes for a caller who comes after another with many utterances', async (t) => {
    const { samples } = await processes.speak(order, 'speech', 'b', signal);
    const transcribe = (urgency: 'final' | 'partial') => (caller: string) => () =>
      processes.transcribe({ samples, draft: { tokens: [] }, urgency, caller, signal }, null);
    for (const urgency of ['final', 'partial'] as const) t.match(await crowded(transcribe(urgency)), /^aa?b/, urgency);
  });
});

t.test('a server shares its voice process fairly', async (t) => {
  const house = await openHouse(t, { env: { PARLEY_VOICE_PROCESSES: '1', PARLEY_TRUSTED_PROXIES: '127.0.0.1' } });
  await t.test('speaks for a key while visitors of one address have digits read out', (t) => besideVisitors(t, house));
});

/** One piece of a sentence. */
const digits = '1234567890'.repeat(5);

async function besideVisitors(t: Test, house: House): Promise<void> {
  const none = {
    minutes_per_day: null,
    concurrent_visitors: null,
    messages_per_visitor_per_day: null,
    messages_per_address_per_hour: null,
  };
  const assistant = await linked(house, 'digits', {
    channels: { voice: true, link: true, widget: true },
    voice: { provider: 'embedded', voice: 'kal16' },
    limits: none,
  });
  const say = (text: string) => house.ask('/speech', { body: { assistant_id: assistant.id, text } });
  t.equal((await say('Hello.')).status, 200, 'the voice is loaded');
  let answered = 0;
  const visits = await Promise.all(
    Array.from({ length: 12 }, async () => {
      const visit = await Visit.to(house, 'digits', { headers: { 'x-forwarded-for': '203.0.113.9' } });
      return { visit, session: await visit.session() };
    }),
  );
  const [first, ...others] = visits.map(async ({ visit, session }) => {
    const { status } = await visit.ask('/speech', { body: { session_id: session.id, text: digits } });
    answered++;
    return status;
  });
  await first;
  const before = answered;
  t.equal((await say('And you?')).status, 200);
  t.ok(answered - before <= 2, `${answered - before} of the visitors were answered first`);
  t.same(new Set(await Promise.all(others)), new Set([200]));
}

t.test('a caller is a key, a person, or the address of visitors', (t) => {
  const principal = (kind: Principal['kind'], id: string): Principal => ({
    workspaceId: 'wks_a',
    id,
    kind,
    name: id,
    channel: 'api',
    assistantIds: null,
  });
  const visitor = (id: string, address: string): Principal => ({
    ...principal('visitor', id),
    visitor: { addressKey: () => address, signedFields: null },
  });
  const callers = [
    principal('key', 'key_1'),
    principal('key', 'key_2'),
    principal('person', 'prs_1'),
    visitor('vis_1', 'a'),
    visitor('vis_2', 'b'),
  ];
  t.equal(new Set(callers.map((each) => voiceCaller(each, 0))).size, callers.length);
  t.equal(voiceCaller(visitor('vis_1', 'a'), 0), voiceCaller(visitor('vis_2', 'a'), 0), 'a new visitor gains nothing');
  t.end();
});
