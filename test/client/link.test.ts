/** The client of a visitor, at the real server: a token that it gets by itself, and the link's limits. */
import t from 'tap';
import { Parley } from '../../src/client/parley.ts';
import type { Visitor } from '../../src/client/types.ts';
import type { LinkOptions } from '../../src/client/visit.ts';
import { jwt } from '../access/jwt.ts';
import { openHouse } from '../api/house.ts';
import { linked, site } from '../pages/link/visits.ts';

const house = await openHouse(t);
await linked(house, 'talk', {
  greeting: 'Good day.',
  visitor_fields: [{ name: 'email', label: 'E-mail', type: 'email', required: true }],
});

/** A client that counts its requests. */
function client(link: LinkOptions): { parley: Parley; sent: string[] } {
  const sent: string[] = [];
  const ask: typeof fetch = (url, init) => {
    sent.push(`${init!.method} ${new URL(String(url)).pathname.replace(/(ses|turn)_\w+/g, '$1')}`);
    return fetch(url, init);
  };
  return { parley: new Parley({ url: house.url, link, fetch: ask }), sent };
}

t.test('a visitor is named once, by the first call that needs one', async (t) => {
  const visitors: Visitor[] = [];
  const { parley, sent } = client({ slug: 'talk', onVisitor: (visitor) => visitors.push(visitor) });
  t.match(await parley.about(), { object: 'link', slug: 'talk', status: 'open', visitor_fields: [{ name: 'email' }] });
  t.same([sent, visitors], [['GET /p/talk/about'], []]);
  const visitor = { email: 'ada@example.com' };
  const [session, other] = await Promise.all([
    parley.sessions.create({ visitor }),
    parley.sessions.create({ visitor }),
  ]);
  t.match([session, other], [{ channel: 'link', visitor }, { channel: 'link' }]);
  t.not(session.id, other.id);
  t.equal(sent.filter((line) => line === 'POST /p/talk/visitors').length, 1);
  t.equal(visitors.length, 1);
  const turn = await parley.sessions.chat(session.id, 'Hello');
  t.equal(await turn.text(), 'word word ');
  t.same(
    (await parley.sessions.transcript(session.id).all()).map(({ content }) => content),
    ['Good day.', 'Hello', 'word word '],
  );
  t.equal(await parley.turns.resume(session.id, turn.id).text(), 'word word ');
  await turn.abort();

  const later = client({ slug: 'talk', visitor: visitors[0]! });
  t.equal((await later.parley.sessions.get(session.id)).id, session.id, 'the visitor of an earlier visit');
  const renewed = await later.parley.visitor();
  t.equal(renewed.id, visitors[0]!.id);
  t.equal((await later.parley.sessions.end(session.id)).status, 'ended');
  t.same(later.sent, ['GET /p/talk/sessions/ses', 'POST /p/talk/visitors', 'POST /p/talk/sessions/ses/end']);
  await t.rejects(client({ slug: 'talk' }).parley.sessions.get(session.id), { code: 'session_not_found' });
});

t.test('a site names its visitor by a function, asked for each token', async (t) => {
  const assistant = await linked(house, 'signed');
  const path = `/workspaces/${house.workspaceId}/assistants/${assistant.id}/link/identity`;
  const { secret } = (await house.console(path, { method: 'POST' })).json;
  let asked = 0;
  const identity = async (): Promise<string> => {
    asked++;
    return jwt(secret, { sub: 'ada', exp: Math.floor(Date.now() / 1000) + 600 });
  };
  const { parley } = client({ slug: 'signed', identity });
  const [session, other] = await Promise.all([parley.sessions.create({}), parley.sessions.create({})]);
  t.match(session, { visitor_verified: true, visitor_id: other.visitor_id });
  t.equal(asked, 1);
  t.equal((await parley.visitor()).id, session.visitor_id);
  t.equal(asked, 2);
  const unnamed = client({ slug: 'signed', identity: () => null }).parley;
  t.match(await unnamed.sessions.create({}), { visitor_verified: false, visitor_id: null });
});

t.test("a token that the service does not know is forgotten, so that the next call is another visitor's", async (t) => {
  const { parley, sent } = client({
    slug: 'talk',
    visitor: { object: 'visitor', id: 'vis_1', token: 'none', expires_at: 0 },
  });
  await t.rejects(parley.sessions.create({}), { code: 'invalid_token' });
  t.match(await parley.sessions.create({ visitor: { email: 'a@b.c' } }), { object: 'session' });
  t.same(sent, ['POST /p/talk/sessions', 'POST /p/talk/visitors', 'POST /p/talk/sessions']);
});

t.test('a visitor that cannot be named: three attempts in all, and a signal ends the wait at once', async (t) => {
  let named = 0;
  const ask: typeof fetch = async (url, init) => {
    if (!String(url).endsWith('/visitors')) return fetch(url, init);
    named++;
    return new Response(
      '{"error":{"type":"api_error","code":"api_error","message":"An internal error occurred."},"request_id":"req_1"}',
      { status: 500 },
    );
  };
  await t.rejects(new Parley({ url: house.url, link: { slug: 'talk' }, fetch: ask }).sessions.create({}), {
    code: 'api_error',
    status: 500,
  });
  t.equal(named, 3);
  const ending = new AbortController();
  let answer!: (refusal: Response) => void;
  const hanging: typeof fetch = (url, init) => {
    if (!String(url).endsWith('/visitors')) return fetch(url, init);
    ending.abort(new Error('enough'));
    return new Promise((resolve) => (answer = resolve));
  };
  await t.rejects(
    new Parley({ url: house.url, link: { slug: 'talk' }, fetch: hanging }).sessions.create(
      {},
      { signal: ending.signal },
    ),
    { message: 'enough' },
  );
  // The request for the name is shared by all calls and continues without this one: unanswered, its three attempts
  // would take 90 seconds.
  answer(
    new Response(
      '{"error":{"type":"permission_error","code":"assistant_not_permitted","message":"Not here."},"request_id":"req_1"}',
      { status: 403 },
    ),
  );
});

t.test("the widget's visitor is one of its site", async (t) => {
  t.match(await client({ slug: 'talk', host: site }).parley.sessions.create({ visitor: { email: 'a@b.c' } }), {
    channel: 'widget',
  });
  await t.rejects(client({ slug: 'talk', host: 'https://other.example' }).parley.sessions.create({}), {
    code: 'assistant_not_permitted',
  });
});

t.test("a call that a link's limit refuses is not retried, and all can be read", async (t) => {
  await linked(house, 'few', { limits: { messages_per_visitor_per_day: 1 } });
  const { parley, sent } = client({ slug: 'few' });
  const { id } = await parley.sessions.create({});
  await (await parley.sessions.chat(id, 'One')).text();
  sent.length = 0;
  for (const message of ['Two', 'Three'])
    await t.rejects(parley.sessions.chat(id, message), { code: 'rate_limited', retryAfterSeconds: Number });
  t.same(sent, ['POST /p/few/sessions/ses/chat'], 'the second is refused here');
  t.equal((await parley.sessions.transcript(id).all()).length, 2);
  t.equal((await parley.sessions.get(id)).status, 'open');
});

t.test('the client of a link speaks and listens', async (t) => {
  await linked(house, 'spoken', {
    channels: { voice: true, link: true, widget: false },
    voice: { provider: 'synthetic', name: 'audio_ms=50,delay_ms=0' },
  });
  const { parley } = client({ slug: 'spoken' });
  const { id: session_id } = await parley.sessions.create({});
  t.ok((await (await parley.speech({ session_id, text: 'Hello there.' })).bytes()).length > 44);
  const transcription = parley.transcribe({ session_id, sample_rate: 16_000 });
  await transcription.send(new Int16Array(16_000));
  await transcription.finish();
  const types = [];
  for await (const { type } of transcription) types.push(type);
  t.same([types[0], types.at(-1)], ['ready', 'done']);
});

t.test('wrong use is a TypeError', async (t) => {
  t.throws(() => new Parley({ url: house.url, key: 'ak_1', link: 'talk' }), TypeError);
  const keyed = new Parley({ url: house.url, key: house.key });
  await t.rejects(keyed.about(), TypeError);
  await t.rejects(keyed.visitor(), TypeError);
  t.match(await new Parley({ url: house.url, link: 'talk' }).about(), { slug: 'talk' });
});
