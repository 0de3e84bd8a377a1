/** Calls: a spoken conversation on a session, from the token to the close (contract 18). */
import t, { type Test } from 'tap';
import { edges, openHouse, type House } from './house.ts';
import { Caller, clipOf, opened } from './caller.ts';
import { until } from './talk.ts';

const env = { PARLEY_SYNTHETIC: '1' };

/** Tests of what a call says, hears and cuts: the same on both engines, whose sockets `test/http/edge/` compares. */
const ofSpeech: Readonly<Record<string, (t: Test, house: House) => Promise<void>>> = {
  'a reply is cut where its listener was': cut,
  'an unheard reply leaves no trace': unheard,
  'a reply that was cut is over before the call is': hungUp,
  'a text of whose reply nothing was heard begins the next message': unheardText,
  'a cut ends at the word of which half was played': exact,
  'a turn that was requested early is invisible until its speech ends': hidden,
  'the audio of a reply that was asked for early begins once': prepared,
  'the greeting is spoken first': greeted,
  'speech over a reply pauses it, and cuts it if it has words': interrupted,
  'a backchannel lets the reply go on': backchannel,
  'speech cuts by its voice, or not at all, as the client wishes': modes,
  'a chat is read along': busy,
  'chats that are over at once are read along, one after the other': quick,
  'requests of the API cut a reply': aborted,
  'a model and a voice that fail': failures,
  'a reply that fails when some of it was heard': failsLate,
  'a client that reports nothing goes by the clock': silent,
  'a telephone hears mu-law': telephone,
};

/** Tests of the socket itself, on each engine; the server ends with the last. */
const ofSocket: Readonly<Record<string, (t: Test, house: House) => Promise<void>>> = {
  'words that are said are answered aloud': answered,
  'a message is answered aloud': typed,
  'the end of its session ends a call': ended,
  'a newer call takes the place of an earlier one': replaced,
  'a lost connection seals what was sent': lost,
  'wrong messages are named before the close': wrong,
  'a flood is named before the close': flooded,
  "a call ends at its session's deadline": expires,
  'a server that ends speaks its reply to the end': drains,
};

for (const edge of edges) {
  t.test(edge, async (t) => {
    const house = await openHouse(t, { env: { ...env, PARLEY_EDGE: edge } });
    const tests = { ...(edge === edges[0] && ofSpeech), ...ofSocket };
    for (const [name, run] of Object.entries(tests)) await t.test(name, (t) => run(t, house));
  });
}

t.test('kill -9 leaves what was sent, a second too much at most, and never too little', async (t) => {
  const env = { PARLEY_STORE: 'lmdb:./data', PARLEY_SYNTHETIC: '1' };
  const first = await openHouse(t, { env });
  const caller = await opened(first, { model: 'tokens=200', characterMs: 60 });
  caller.send({ type: 'message', text: 'Tell me a story' });
  const { message_id: messageId } = await caller.until('message.delta');
  await first.kill('SIGKILL');
  await caller.closed;
  const heard = caller.textOf(messageId);
  const second = await openHouse(t, { folder: first.folder, env });
  const [, reply] = await until(async () => {
    const { data } = (await second.ask(`/sessions/${caller.session.id}/transcript`, { key: first.key })).json;
    return data?.[1]?.status === 'partial' ? data : null;
  });
  t.match(reply, { stop_reason: 'error', error_code: 'api_error', voice: { heard: 'sent', cut_by: null } });
  t.ok(reply.content.startsWith(heard) && heard !== '', 'what was heard is a prefix of what is kept');
  t.ok(
    reply.content.length - heard.length <= 25,
    `${reply.content.length - heard.length} characters more: a second of speech and the word under way`,
  );
  t.match((await second.ask(`/sessions/${caller.session.id}`, { key: first.key })).json, {
    status: 'open',
    active_turn_id: null,
    active_call_id: null,
  });
  t.equal((await second.ask('/call-tokens', { key: first.key, body: { session_id: caller.session.id } })).status, 201);
});

async function answered(t: Test, house: House): Promise<void> {
  const caller = await opened(house, { texts: 'hello_there', model: 'tokens=6' });
  const ready = caller.heard[0]!;
  t.match(ready, {
    type: 'ready',
    call_id: /^call_/,
    session_id: caller.session.id,
    sample_rate: 16_000,
    output_sample_rate: 16_000,
    turn_silence_ms: 500,
    ahead_ms: 1000,
    barge_in: 'words',
  });
  t.equal((await house.ask(`/sessions/${caller.session.id}`)).json.active_call_id, ready.call_id);
  caller.say(await clipOf(house));
  const started = await caller.until('turn.started');
  t.match(started, { text: 'hello there', spoken: true });
  await caller.plays();
  const completed = await caller.until('turn.completed');
  t.equal(completed.turn_id, started.turn_id);
  const text = caller.textOf(started.message_id);
  const { data } = (await house.ask(`/sessions/${caller.session.id}/transcript`)).json;
  t.match(data, [
    { role: 'user', content: 'hello there', voice: { audio_ms: Number } },
    { role: 'assistant', content: text, status: 'completed', voice: { heard: 'played', cut_by: null } },
  ]);
  t.same(caller.states(), ['listening', 'hearing', 'thinking', 'speaking', 'listening']);
  const load: readonly any[] = (await house.console('/load')).json.data;
  t.ok(
    load.some(({ open_calls: calls }) => calls > 0) && load.some(({ voice_to_voice_p50_ms: ms }) => ms > 0),
    'the load has the call, and how fast it was answered',
  );
  caller.send({ type: 'hangup' });
  t.match(await caller.until('ended'), { reason: 'hangup' });
  t.equal(await caller.closed, 1000);
}

async function cut(t: Test, house: House): Promise<void> {
  const caller = await opened(house, { texts: 'hello_there', model: 'tokens=60', characterMs: 60 });
  caller.say(await clipOf(house));
  const { message_id: messageId } = await caller.until('turn.started');
  await caller.until('message.delta');
  caller.send({ type: 'interrupt' });
  await caller.until('audio.clear');
  caller.report();
  const { cut_by: cutBy } = await caller.until('turn.aborted');
  t.equal(cutBy, 'client');
  const { data } = (await house.ask(`/sessions/${caller.session.id}/transcript`)).json;
  t.match(data[1], {
    content: caller.textOf(messageId),
    status: 'partial',
    stop_reason: 'aborted',
    voice: { cut_by: 'client' },
  });
  caller.socket.terminate();
}

const transcript = async (house: House, { session }: { session: any }): Promise<any[]> =>
  (await house.ask(`/sessions/${session.id}/transcript`)).json.data;

async function unheard(t: Test, house: House): Promise<void> {
  const caller = await opened(house, { texts: 'hello_there|and_more', model: 'tokens=60', characterMs: 60 });
  caller.say(await clipOf(house));
  const { turn_id: turnId } = await caller.until('audio.start');
  caller.send({ type: 'interrupt' });
  await caller.until('audio.clear');
  caller.send({ type: 'played', message_id: caller.message, samples: 0 });
  t.equal((await caller.until('turn.withdrawn')).turn_id, turnId);
  t.same(await transcript(house, caller), []);
  caller.say(await clipOf(house));
  t.match(
    await caller.until('turn.started', ({ turn_id: id }) => id !== turnId),
    { text: 'hello there and more' },
    'its words begin the next message',
  );
  caller.socket.terminate();
}

async function unheardText(t: Test, house: House): Promise<void> {
  const caller = await opened(house, { texts: 'for_my_child', model: 'tokens=60', characterMs: 60 });
  caller.send({ type: 'message', text: 'Tell me' });
  const { turn_id: first } = await caller.until('audio.start');
  caller.send({ type: 'interrupt' });
  await caller.until('audio.clear');
  caller.send({ type: 'played', message_id: caller.message, samples: 0 });
  t.equal((await caller.until('turn.withdrawn')).turn_id, first);
  caller.send({ type: 'message', text: 'a story' });
  const second = await caller.until('turn.started', ({ turn_id: id }) => id !== first);
  t.equal(second.text, 'Tell me a story');
  caller.send({ type: 'interrupt' });
  caller.send({ type: 'played', message_id: second.message_id, samples: 0 });
  await caller.until('turn.withdrawn', ({ turn_id: id }) => id === second.turn_id);
  caller.say(await clipOf(house));
  const third = await caller.until('turn.started', ({ turn_id: id }) => id !== first && id !== second.turn_id);
  t.equal(third.text, 'Tell me a story for my child');
  t.match(
    (await transcript(house, caller))[0],
    { content: 'Tell me a story for my child', voice: null },
    'some of it was typed',
  );
  caller.socket.terminate();
}

async function hidden(t: Test, house: House): Promise<void> {
  const caller = await opened(house, { texts: 'hello_there', model: 'tokens=20', query: '&turn_silence_ms=3000' });
  caller.say(await clipOf(house), 400);
  const turnId = await until(async () => (await house.ask(`/sessions/${caller.session.id}`)).json.active_turn_id);
  t.same(await transcript(house, caller), []);
  t.equal((await house.ask(`/sessions/${caller.session.id}/turns/${turnId}/events`)).status, 404);
  t.equal((await house.ask(`/sessions/${caller.session.id}/turns/${turnId}/abort`, { method: 'POST' })).status, 404);
  t.equal(
    (await house.ask(`/sessions/${caller.session.id}/chat`, { body: { message: 'Hello' } })).json.error.code,
    'turn_in_progress',
  );
  t.notOk(caller.heard.some(({ type }) => type === 'turn.started'));
  caller.send({ type: 'hangup' });
  t.equal(await caller.closed, 1000);
  await until(async () => (await house.ask(`/sessions/${caller.session.id}`)).json.active_turn_id === null);
  t.same(await transcript(house, caller), [], 'words without a turn are not stored');
}

async function prepared(t: Test, house: House): Promise<void> {
  const caller = await opened(house, { texts: 'hello_there', model: 'tokens=4', query: '&turn_silence_ms=1000' });
  caller.say(await clipOf(house), 400);
  await until(async () => (await house.ask(`/sessions/${caller.session.id}`)).json.active_turn_id);
  caller.say(Buffer.alloc(0));
  await caller.plays();
  await caller.until('turn.completed');
  t.equal(caller.heard.filter(({ type }) => type === 'audio.start').length, 1);
  caller.socket.terminate();
}

/** No report comes behind a hangup: the cut does not wait for one. */
async function hungUp(t: Test, house: House): Promise<void> {
  const caller = await opened(house, { model: 'tokens=40' });
  caller.send({ type: 'message', text: 'Hello' });
  await caller.until('message.delta');
  caller.send({ type: 'interrupt' });
  caller.send({ type: 'hangup' });
  t.equal(await caller.closed, 1000);
  t.match(caller.heard.slice(-2), [
    { type: 'turn.aborted', cut_by: 'client' },
    { type: 'ended', reason: 'hangup' },
  ]);
}

/** The error comes before the close, though a turn must be sealed first. */
async function flooded(t: Test, house: House): Promise<void> {
  const floods: Record<string, (caller: Caller) => void> = {
    'pings beyond the pace': ({ socket }) => Array.from({ length: 120 }, () => socket.ping()),
    'a frame over 1 MiB': (caller) => caller.send(new Uint8Array(2 ** 20 + 1)),
  };
  for (const [what, flood] of Object.entries(floods)) {
    const caller = await opened(house, { model: 'tokens=40' });
    caller.send({ type: 'message', text: 'Hello' });
    await caller.until('message.delta');
    flood(caller);
    t.equal(await caller.closed, what.includes('MiB') ? 1009 : 1008, what);
    t.match(caller.heard.at(-1), { type: 'error', code: 'invalid_request' }, what);
  }
}

async function typed(t: Test, house: House): Promise<void> {
  const caller = await opened(house, { model: 'tokens=4' });
  caller.send({ type: 'message', text: 'How are you?' });
  t.match(await caller.until('turn.started'), { text: 'How are you?', spoken: true });
  await caller.plays();
  await caller.until('turn.completed');
  t.match(await transcript(house, caller), [{ content: 'How are you?', voice: null }, { voice: { heard: 'played' } }]);
  const escaped = await opened(house);
  escaped.socket.send(`{"type":"message","text":"${'\\ud83d\\ude00'.repeat(8000)}"}`);
  t.ok(
    (await escaped.until('turn.started')).text === '😀'.repeat(8000),
    'as long as a message may be, each code unit escaped',
  );
  escaped.socket.terminate();
  const blank = await opened(house);
  blank.send({ type: 'message', text: ' ' });
  t.match(await blank.until('turn.started'), { text: ' ' }, 'as chat takes it');
  blank.socket.terminate();
  caller.socket.terminate();
}

async function greeted(t: Test, house: House): Promise<void> {
  const caller = await opened(house, { fields: { greeting: 'Good day. How can I help?' } });
  const start = await caller.until('audio.start');
  t.equal(start.turn_id, null);
  await caller.plays();
  await caller.until('state', ({ state }) => state === 'listening');
  t.same(caller.states(), ['speaking', 'listening']);
  t.equal(caller.textOf(start.message_id), '', 'it has no deltas');
  t.match(await transcript(house, caller), [{ content: 'Good day. How can I help?', voice: null }]);
  caller.socket.terminate();
}

async function interrupted(t: Test, house: House): Promise<void> {
  const caller = await opened(house, {
    texts: 'tell_me_a_story|no_the_other_one',
    model: 'tokens=200',
    characterMs: 60,
  });
  caller.say(await clipOf(house));
  await caller.until('message.delta');
  caller.say(await clipOf(house));
  await caller.until('audio.pause');
  await caller.until('audio.clear');
  caller.report();
  const aborted = await caller.until('turn.aborted');
  t.equal(aborted.cut_by, 'speech');
  const next = await caller.until('turn.started', ({ turn_id: id }) => id !== aborted.turn_id);
  t.equal(next.text, 'no the other one');
  const cleared = caller.heard.findIndex(({ type }) => type === 'audio.clear');
  t.notOk(
    caller.heard.slice(cleared).some(({ type, message_id: id }) => type === 'audio.end' && id === aborted.message_id),
  );
  const [, reply] = await transcript(house, caller);
  t.equal(reply.content, caller.textOf(aborted.message_id), 'what was heard is what the transcript says');
  caller.socket.terminate();
}

async function backchannel(t: Test, house: House): Promise<void> {
  const caller = await opened(house, { texts: 'tell_me_a_story|yeah', model: 'tokens=200', characterMs: 60 });
  caller.say(await clipOf(house));
  await caller.until('message.delta');
  caller.say(await clipOf(house));
  await caller.until('audio.pause');
  await caller.until('audio.resume');
  t.match(await caller.until('transcript.final', ({ text }) => text === 'yeah'), { ignored: 'backchannel' });
  t.notOk(caller.heard.some(({ type }) => type === 'audio.clear'));
  caller.socket.terminate();
}

async function busy(t: Test, house: House): Promise<void> {
  const caller = await opened(house, { model: 'tokens=20,delay_ms=20' });
  caller.send({ type: 'message', text: 'Never mind' });
  await caller.until('turn.started');
  caller.send({ type: 'interrupt' });
  await caller.until('turn.withdrawn');
  const stream = await house.stream(`/sessions/${caller.session.id}/chat`, { body: { message: 'Typed elsewhere' } });
  t.match(await caller.until('turn.started', ({ spoken }) => !spoken), {
    turn_id: stream.turnId,
    text: 'Typed elsewhere',
    spoken: false,
  });
  caller.send({ type: 'message', text: 'Me too' });
  t.match(
    await caller.until('turn.failed'),
    { turn_id: null, code: 'turn_in_progress' },
    'the turn that was withdrawn has nothing to do with it',
  );
  await caller.until('turn.completed');
  await stream.rest();
  t.equal(
    caller.textOf(caller.heard.find(({ type, spoken }) => type === 'turn.started' && !spoken)!.message_id),
    (await transcript(house, caller)).at(-1).content,
  );
  await caller.until('state', ({ state }) => state === 'listening');
  caller.socket.terminate();
}

async function quick(t: Test, house: House): Promise<void> {
  const caller = await opened(house, { model: 'tokens=1' });
  const turns: string[] = [];
  for (const message of ['one', 'two', 'three', 'four']) {
    const stream = await house.stream(`/sessions/${caller.session.id}/chat`, { body: { message } });
    turns.push(stream.turnId);
    await stream.rest();
  }
  await caller.until('turn.completed', ({ turn_id: id }) => id === turns.at(-1));
  const told = caller.heard
    .filter(({ type }) => type.startsWith('turn.'))
    .map(({ type, turn_id: id }) => `${type} ${turns.indexOf(id)}`);
  t.same(
    told,
    [0, 1, 2, 3].flatMap((turn) => [`turn.started ${turn}`, `turn.completed ${turn}`]),
  );
  const lastBusy = caller.heard.findLastIndex(({ state }) => state === 'busy');
  await caller.until(
    'state',
    (message) => message['state'] === 'listening' && caller.heard.indexOf(message) > lastBusy,
  );
  caller.socket.terminate();
}

async function aborted(t: Test, house: House): Promise<void> {
  const caller = await opened(house, { model: 'tokens=200', characterMs: 60 });
  caller.send({ type: 'message', text: 'Tell me a story' });
  const { turn_id: turnId, message_id: messageId } = await caller.until('turn.started');
  t.match(
    (await house.ask(`/sessions/${caller.session.id}/chat`, { body: { message: 'Hello' } })).json.error.code,
    'turn_in_progress',
  );
  await caller.until('message.delta');
  const aborting = house.ask(`/sessions/${caller.session.id}/turns/${turnId}/abort`, { method: 'POST' });
  await caller.until('audio.clear');
  caller.report();
  t.match((await aborting).json, { status: 'aborted' });
  t.match(await caller.until('turn.aborted'), { cut_by: 'api' });
  t.equal((await transcript(house, caller)).at(-1).content, caller.textOf(messageId));
  caller.socket.terminate();
}

async function ended(t: Test, house: House): Promise<void> {
  const caller = await opened(house, { model: 'tokens=200', characterMs: 60 });
  caller.send({ type: 'message', text: 'Tell me a story' });
  await caller.until('message.delta');
  await house.ask(`/sessions/${caller.session.id}/end`, { method: 'POST' });
  t.match(await caller.until('error'), { code: 'session_ended' });
  t.equal(await caller.closed, 1008);
  const {
    data: [, reply],
  } = (await house.ask(`/sessions/${caller.session.id}/transcript`)).json;
  t.match(reply, { status: 'partial', stop_reason: 'aborted', voice: { cut_by: null } });
}

async function replaced(t: Test, house: House): Promise<void> {
  const caller = await opened(house);
  const { json } = await house.ask('/call-tokens', { body: { session_id: caller.session.id } });
  const newer = new Caller(`${house.url.replace('http', 'ws')}/call?token=${json.token}`, caller.session);
  const ready = await newer.until('ready');
  t.match(await caller.until('ended'), { reason: 'replaced' });
  t.equal(await caller.closed, 1000);
  t.equal((await house.ask(`/sessions/${caller.session.id}`)).json.active_call_id, ready.call_id);
  newer.send({ type: 'hangup' });
  await newer.closed;
  await until(async () => (await house.ask(`/sessions/${caller.session.id}`)).json.active_call_id === null);
}

async function lost(t: Test, house: House): Promise<void> {
  const caller = await opened(house, { model: 'tokens=200', characterMs: 60 });
  caller.send({ type: 'message', text: 'Tell me a story' });
  await caller.until('message.delta');
  caller.socket.terminate();
  const sealed = await until(async () => (await transcript(house, caller)).find(({ status }) => status === 'partial'));
  t.match(sealed, { stop_reason: 'aborted', voice: { heard: 'sent', cut_by: 'lost' } });
}

async function failures(t: Test, house: House): Promise<void> {
  const caller = await opened(house, { model: 'fail_at=0' });
  caller.send({ type: 'message', text: 'Hello' });
  t.match(await caller.until('turn.failed'), { code: 'assistant_unavailable' });
  t.same(await transcript(house, caller), []);
  caller.socket.terminate();
  const mute = await opened(house, {
    fields: { voice: { provider: 'synthetic', name: 'fail_at=0', transcription_name: 'texts=hello' } },
  });
  for (let times = 0; times < 3; times++) {
    mute.send({ type: 'message', text: `Hello ${times}` });
    if (times < 2)
      await until(async () => mute.heard.filter(({ type }) => type === 'turn.failed').length > times || null);
  }
  t.match(await mute.until('error'), { code: 'voice_unavailable' });
  t.equal(await mute.closed, 1011);
  t.same(
    mute.heard
      .filter(({ type }) => type === 'turn.failed' || type === 'turn.withdrawn')
      .map(({ type, code }) => [type, code]),
    Array(3).fill(['turn.failed', 'voice_unavailable']),
    'the last failure is told as the others are',
  );
}

/** A voice that fails behind its first sentence, or a model that does. */
async function failsLate(t: Test, house: House): Promise<void> {
  const voice = (name: string) => ({ voice: { provider: 'synthetic', name, transcription_name: 'texts=hello' } });
  for (const [code, model, name] of [
    ['voice_unavailable', 'tokens=120', 'character_ms=5,fail_at=1'],
    ['assistant_unavailable', 'tokens=120,fail_at=60,delay_ms=30', 'character_ms=5'],
  ] as const) {
    const caller = await opened(house, { model, fields: voice(name) });
    caller.send({ type: 'message', text: 'Hello' });
    const { turn_id: turnId, message_id: messageId } = await caller.until('turn.started');
    await caller.plays('turn.failed');
    t.match(await caller.until('turn.failed'), { turn_id: turnId, code });
    const [, reply] = await transcript(house, caller);
    t.match(reply, {
      status: 'partial',
      stop_reason: 'error',
      error_code: code,
      content: caller.textOf(messageId),
      voice: { heard: 'played', cut_by: null },
    });
    t.not(reply.content, '', 'what was sent is played first');
    const events = await (await house.stream(`/sessions/${caller.session.id}/turns/${turnId}/events`)).rest();
    t.match(events.at(-1), { event: 'error', data: { code } });
    await until(() => caller.states().at(-1) === 'listening');
    caller.socket.terminate();
  }
}

async function wrong(t: Test, house: House): Promise<void> {
  for (const message of [
    { type: 'message', text: '' },
    { type: 'message', text: 'x'.repeat(8001) },
    { type: 'played', message_id: 'msg', samples: -1 },
    { type: 'nothing' },
  ]) {
    const caller = await opened(house);
    caller.send(message);
    t.match(await caller.until('error'), { code: 'invalid_request' }, JSON.stringify(message).slice(0, 60));
    t.equal(await caller.closed, 1008);
  }
}

/** Each character lasts 60 ms, and the reply is "word word …": the half of word n is played after 300 n + 120 ms. */
async function exact(t: Test, house: House): Promise<void> {
  const seed = 7;
  const drawn = Array.from({ length: 8 }, (_, time) => ((seed * 7919 + time * 104_729) % 4000) + 121);
  for (const playedMs of [119, 120, 419, 420, ...drawn]) {
    const caller = await opened(house, { model: 'tokens=40', characterMs: 60 });
    caller.send({ type: 'message', text: 'Tell me a story' });
    const { message_id: messageId } = await caller.until('audio.start');
    const samples = playedMs * 16;
    // A report lets more be sent.
    await until(async () => {
      const received = caller.received.get(messageId) ?? 0;
      if (received < samples) caller.send({ type: 'played', message_id: messageId, samples: received });
      return received >= samples || null;
    });
    caller.send({ type: 'interrupt' });
    await caller.until('audio.clear');
    caller.send({ type: 'played', message_id: messageId, samples });
    const words = Math.max(0, Math.floor((playedMs - 120) / 300) + 1);
    if (words === 0) await caller.until('turn.withdrawn');
    else {
      await caller.until('turn.aborted');
      const content = 'word '.repeat(words).trim();
      t.match(
        (await transcript(house, caller)).at(-1),
        { content, voice: { heard: 'played', audio_ms: playedMs } },
        `${playedMs} ms`,
      );
      t.equal(caller.textOf(messageId), content, 'and the client was told the same');
    }
    caller.socket.terminate();
  }
}

async function silent(t: Test, house: House): Promise<void> {
  const caller = await opened(house, { model: 'tokens=4' });
  caller.send({ type: 'message', text: 'Hello' });
  const { message_id: messageId } = await caller.until('turn.started');
  await caller.until('turn.completed');
  t.match((await transcript(house, caller)).at(-1), {
    content: caller.textOf(messageId),
    voice: { heard: 'estimated', audio_ms: Math.floor((caller.received.get(messageId) ?? 0) / 16) },
  });
  caller.socket.terminate();
}

async function telephone(t: Test, house: House): Promise<void> {
  const caller = await opened(house, {
    model: 'tokens=4',
    query: '&output_encoding=pcm_mulaw&encoding=pcm_mulaw&sample_rate=8000',
  });
  t.match(caller.heard[0], {
    sample_rate: 8000,
    encoding: 'pcm_mulaw',
    output_sample_rate: 8000,
    output_encoding: 'pcm_mulaw',
  });
  caller.send({ type: 'message', text: 'Hello' });
  const { message_id: messageId } = await caller.until('audio.start');
  const { samples } = await caller.until('audio.end');
  // A sample is a byte, and this client counts pairs of bytes.
  t.equal(samples, 2 * (caller.received.get(messageId) ?? 0));
  t.ok(samples >= 19 * 20 * 8, `${samples} samples for 19 characters of 20 ms`);
  caller.socket.terminate();
}

async function expires(t: Test, house: House): Promise<void> {
  const caller = await opened(house, { model: 'tokens=200', characterMs: 60, fields: { max_call_seconds: 2 } });
  caller.send({ type: 'message', text: 'Tell me a story' });
  t.match(await caller.until('error'), { code: 'session_expired' });
  t.equal(await caller.closed, 1008);
  t.match((await transcript(house, caller)).at(-1), {
    status: 'partial',
    stop_reason: 'expired',
    error_code: 'session_expired',
    voice: { heard: 'estimated', cut_by: null },
  });
}

async function drains(t: Test, house: House): Promise<void> {
  const idle = await opened(house);
  const caller = await opened(house, { model: 'tokens=20', characterMs: 20 });
  const thinking = await opened(house, { model: 'tokens=5,first_ms=800', characterMs: 20 });
  for (const each of [thinking, caller]) each.send({ type: 'message', text: 'Tell me a story' });
  await thinking.until('turn.started');
  await caller.until('message.delta');
  const stopped = house.stop();
  t.match(await idle.until('error'), { code: 'api_error' });
  t.equal(await idle.closed, 1012);
  for (const each of [caller, thinking]) {
    await each.until('turn.completed');
    t.match(await each.until('error'), { code: 'api_error' });
    t.equal(await each.closed, 1012);
    t.same(each.states(), ['listening', 'thinking', 'speaking']);
  }
  t.same(await stopped, { code: 0, signal: null });
}

async function modes(t: Test, house: House): Promise<void> {
  const caller = await opened(house, {
    texts: 'tell_me_a_story|yeah',
    model: 'tokens=200',
    characterMs: 60,
    query: '&barge_in=voice',
  });
  caller.say(await clipOf(house));
  await caller.until('message.delta');
  caller.say(await clipOf(house));
  await caller.until('audio.clear');
  caller.report();
  t.match(await caller.until('turn.aborted'), { cut_by: 'speech' }, 'by half a second of voice, whatever it says');
  caller.socket.terminate();

  const deaf = await opened(house, {
    texts: 'tell_me_a_story|stop_it',
    model: 'tokens=60',
    characterMs: 20,
    query: '&barge_in=off',
  });
  deaf.say(await clipOf(house));
  await deaf.until('message.delta');
  deaf.say(await clipOf(house));
  await deaf.plays();
  await deaf.until('turn.completed');
  t.notOk(deaf.heard.some(({ type }) => type === 'audio.pause'));
  t.equal(
    deaf.heard.filter(({ type }) => type === 'speech.started').length,
    1,
    'it begins while the reply is spoken, and is not heard',
  );
  deaf.socket.terminate();
}
