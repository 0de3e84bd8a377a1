/** Voice over the link: a visitor's own sessions alone, and each use a message of the visitor's (contract 9). */
import { WebSocket } from 'ws';
import t from 'tap';
import { Caller, clipOf } from '../../api/caller.ts';
import { openHouse } from '../../api/house.ts';
import { linked, statusOf, verdict, Visit } from './visits.ts';

const spoken = {
  channels: { voice: true, link: true, widget: true },
  voice: { provider: 'synthetic', name: 'audio_ms=50,delay_ms=0' },
};
const none = {
  minutes_per_day: null,
  concurrent_visitors: null,
  messages_per_visitor_per_day: null,
  messages_per_address_per_hour: null,
};

t.test('a visitor speaks and listens on the page', async (t) => {
  const house = await openHouse(t);
  const speak = (visit: Visit, body: object) => visit.ask('/speech', { body: { text: 'Hello there.', ...body } });
  const mint = (visit: Visit, body: object) => visit.ask('/transcription-tokens', { body });

  await t.test('each use counts as a message', async (t) => {
    const assistant = await linked(house, 'spoken', {
      ...spoken,
      limits: { ...none, messages_per_visitor_per_day: 2 },
    });
    const visit = await Visit.to(house, 'spoken');
    const session = await visit.session();
    const audio = await speak(visit, { session_id: session.id });
    t.same(
      [audio.status, audio.headers.get('content-type'), audio.headers.get('x-ratelimit-limit')],
      [200, 'audio/wav', null],
    );
    const { minutes_used, visitors_present } = await statusOf(house, assistant);
    t.ok(minutes_used >= 1 && minutes_used <= 1.3, 'it starts the clock');
    t.equal(visitors_present, 1);
    const token = await mint(visit, { session_id: session.id });
    t.match(
      [token.status, token.json.object, token.json.url],
      [201, 'transcription_token', /\/transcription\?token=tok_/],
    );
    for (const refused of [
      await visit.say(session),
      await speak(visit, { session_id: session.id }),
      await mint(visit, { session_id: session.id }),
    ])
      t.equal(verdict(refused)[0], 429);
    const socket = new WebSocket(token.json.url);
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    await visit.ask(`/sessions/${session.id}/end`, { method: 'POST' });
    t.equal(await new Promise((resolve) => socket.once('close', resolve)), 1008, 'the socket ends with its session');
    t.equal((await statusOf(house, assistant)).visitors_present, 0);
  });

  await t.test(
    'a turn of a call that a limit refuses is counted once, however often its model was to be asked early',
    async (t) => {
      const assistant = await linked(house, 'called', {
        ...spoken,
        voice: { provider: 'synthetic', transcription_name: 'texts=hello' },
        limits: { ...none, messages_per_visitor_per_day: 1 },
      });
      const visit = await Visit.to(house, 'called');
      const session = await visit.session();
      const { json } = await visit.ask('/call-tokens', { body: { session_id: session.id } });
      const caller = new Caller(`${json.url}&turn_silence_ms=2000`, session);
      await caller.until('ready');
      const refusals = async (): Promise<number> =>
        Number(
          /limited_total\{budget="messages_per_visitor_per_day"\} (\d+)/.exec(
            (await house.ask('/metrics', { key: null })).text,
          )![1],
        );
      const before = await refusals();
      caller.say(await clipOf(house), 3_000);
      t.match(await caller.until('turn.failed'), { turn_id: null, code: 'rate_limited' });
      t.equal((await statusOf(house, assistant)).refused.messages_per_visitor_per_day, 1);
      t.equal((await refusals()) - before, 1, 'as of a chat');
      caller.send({ type: 'hangup' });
      t.equal(await caller.closed, 1000);
    },
  );

  await t.test('the order of its checks', async (t) => {
    await linked(house, 'ordered', { ...spoken, limits: { ...none, messages_per_visitor_per_day: 0 } });
    const [visit, other] = [await Visit.to(house, 'ordered'), await Visit.to(house, 'ordered')];
    const [session, over, theirs] = [await visit.session(), await visit.session(), await other.session()];
    await visit.ask(`/sessions/${over.id}/end`, { method: 'POST' });
    for (const use of [speak, mint]) {
      const code = async (body: object) => {
        const { status, json } = await use(visit, body);
        return [status, json.error.code];
      };
      t.same(await code({}), [422, 'invalid_request']);
      for (const id of ['ses_none', theirs.id]) t.same(await code({ session_id: id }), [404, 'session_not_found']);
      t.same(await code({ session_id: over.id }), [409, 'session_ended']);
      t.same(await code({ session_id: session.id }), [429, 'rate_limited']);
    }
    t.same((await speak(visit, { session_id: session.id, text: '…' })).status, 422);
    t.equal(
      (await speak(visit, { session_id: over.id, voice: 'nobody' })).status,
      422,
      'a voice comes before the state',
    );
  });

  await t.test('where voice is off', async (t) => {
    await linked(house, 'silent', { limits: none });
    const visit = await Visit.to(house, 'silent');
    const session = await visit.session();
    for (const use of [speak, mint])
      t.equal((await use(visit, { session_id: session.id })).json.error.code, 'voice_disabled');
  });
});
