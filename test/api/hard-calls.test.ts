/**
 * Calls with people who speak on, models that drip, and clients that lie, go back, read nothing or send nonsense
 * (contract 18).
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { Loudspeaker } from '../faults/loudspeaker.ts';
import { Microphone } from '../faults/microphone.ts';
import { clipOf, opened, type Caller, type CallWish } from './caller.ts';
import { edge, type House, openWorkspace } from './house.ts';
import { transcriptOf, until } from './talk.ts';

t.test(edge, async (t) => {
  const house = await openWorkspace();
  await t.test('speech that goes on behind the end of a turn', (t) => resumed(t, house));
  await t.test('two turns that are said before the first is answered', (t) => hurried(t, house));
  await t.test('a turn that is ended again while its model is asked early', (t) => flushed(t, house));
  await t.test('a reply of a slow model is spoken as it comes, up to its end or its failure', (t) => drips(t, house));
  await t.test('a playback report beyond the audio sent, or below an earlier one, changes nothing', (t) =>
    lies(t, house),
  );
  await t.test(
    'a client that reports more often than texts may come keeps its call, and its newest report counts',
    (t) => eager(t, house),
  );
  await t.test('a reply completes while its client reads nothing', (t) => deaf(t, house));
  await t.test('a second without audio ends an utterance', (t) => breaks(t, house));
  await t.test('odd frames at 44.1 kHz, in and out', (t) => odd(t, house));
  await t.test('a message longer than one may be with the words before it', (t) => long(t, house));
  await t.test('usage excludes an unheard reply', (t) => uncounted(t, house));
  await t.test('a reply can be aborted before its first sound', (t) => abortedSoon(t, house));
  await t.test('a reply that is cut while its tool is called', (t) => calling(t, house));
  await t.test('a call survives messages at random', (t) => random(t, house));
});

const spoken = async (house: House, { session }: Caller): Promise<any[]> => transcriptOf(house, session.id);

/** The words of both utterances, once each and in order, and no empty message. */
async function holdsAll(t: Test, house: House, caller: Caller, why: string): Promise<readonly any[]> {
  const said = (messages: readonly any[]): string =>
    messages
      .filter(({ role }) => role === 'user')
      .map(({ content }) => content)
      .join(' ');
  const messages = await until(async () => {
    const found = await spoken(house, caller);
    return said(found).endsWith('and more') && found.at(-1).status === 'completed' ? found : null;
  });
  t.equal(said(messages), 'hello there and more', `${why}: each word once`);
  t.same(
    messages.filter(({ content }) => content === ''),
    [],
    `${why}: nothing empty`,
  );
  t.same(
    messages.map(({ role }) => role),
    messages.map((_, index) => (index % 2 === 0 ? 'user' : 'assistant')),
    `${why}: one message of each side for each turn`,
  );
  caller.socket.terminate();
  return messages;
}

async function resumed(t: Test, house: House): Promise<void> {
  const clip = await clipOf(house);
  await Promise.all(
    [0, 150, 300, 600, 900].map(async (afterMs) => {
      const caller = await opened(house, {
        texts: 'hello_there|and_more',
        model: 'tokens=6,first_ms=400',
        characterMs: 60,
      });
      new Loudspeaker(caller);
      const microphone = new Microphone(caller, clip);
      microphone.hear(Buffer.concat([clip, Buffer.alloc((500 + afterMs) * 32), clip]));
      const messages = await holdsAll(t, house, caller, `${afterMs} ms`);
      const replies = caller.heard.filter(({ type }) => type === 'turn.started').length;
      const gone = caller.heard.filter(({ type }) => type === 'turn.withdrawn').length;
      t.equal(messages.length, 2 * (replies - gone), `${afterMs} ms: a reply that was not heard leaves nothing`);
    }),
  );
}

/**
 * Audio faster than speech, without reports: the second turn ends before the heard part of the first reply is known.
 */
async function hurried(t: Test, house: House): Promise<void> {
  const clip = await clipOf(house);
  await Promise.all(
    [0, 1, 2].map(async (time) => {
      const caller = await opened(house, {
        texts: 'hello_there|and_more',
        model: 'text=Uncharacteristically,tokens=2',
        characterMs: 60,
      });
      caller.say(clip, 1_000);
      caller.say(clip, 1_000);
      await holdsAll(t, house, caller, `time ${time}`);
    }),
  );
}

async function flushed(t: Test, house: House): Promise<void> {
  const clip = await clipOf(house);
  const caller = await opened(house, { texts: 'hello_there|and_more', model: 'tokens=6,first_ms=300' });
  new Loudspeaker(caller);
  // The pause is long enough to ask the model, and too short to end the turn.
  caller.say(clip, 300);
  caller.send({ type: 'flush' });
  caller.send({ type: 'flush' });
  caller.say(clip, 300);
  caller.send({ type: 'flush' });
  caller.send({ type: 'flush' });
  await holdsAll(t, house, caller, 'two finals in a row');
}

async function drips(t: Test, house: House): Promise<void> {
  const dripping = async (model: string, end: string): Promise<Caller> => {
    const caller = await opened(house, { model, characterMs: 5 });
    caller.send({ type: 'message', text: 'Hello' });
    await caller.plays(end);
    return caller;
  };
  const whole = await dripping('tokens=25,delay_ms=100', 'turn.completed');
  const [, reply] = await spoken(house, whole);
  t.match(reply, { status: 'completed', content: 'word '.repeat(25) });
  t.equal(whole.textOf(reply.id), reply.content);
  whole.socket.terminate();
  const cut = await dripping('tokens=25,delay_ms=100,fail_at=15', 'turn.failed');
  const [, part] = await spoken(house, cut);
  t.match(part, { status: 'partial', error_code: 'assistant_unavailable' });
  t.ok(part.content !== '' && 'word '.repeat(15).startsWith(part.content), 'what was spoken of it');
  t.equal(cut.textOf(part.id), part.content);
  cut.socket.terminate();
}

async function started(house: House, wish: CallWish): Promise<Caller> {
  const caller = await opened(house, wish);
  caller.send({ type: 'message', text: 'Hello' });
  await caller.until('audio.start');
  return caller;
}

async function lies(t: Test, house: House): Promise<void> {
  const boastful = await started(house, { model: 'tokens=40', characterMs: 60 });
  const played = (caller: Caller, samples: number, message = caller.message): void =>
    caller.send({ type: 'played', message_id: message, samples });
  const timer = setInterval(() => played(boastful, Number.MAX_SAFE_INTEGER), 20);
  await boastful.until('turn.completed').finally(() => clearInterval(timer));
  const [, whole] = await spoken(house, boastful);
  t.match(
    whole,
    {
      content: 'word '.repeat(40),
      voice: { heard: 'played', audio_ms: Math.floor(boastful.received.get(whole.id)! / 16) },
    },
    'more than was sent counts as all',
  );
  boastful.socket.terminate();

  const goesBack = await opened(house, { model: 'tokens=40', characterMs: 60 });
  goesBack.send({ type: 'message', text: 'Hello' });
  // A client that has reported is waited for, however late the next report is.
  played(goesBack, 0, (await goesBack.until('turn.started'))['message_id']);
  await goesBack.until('audio.start');
  // The half of the third word is played after 720 ms.
  const samples = 720 * 16;
  await until(() => (goesBack.received.get(goesBack.message) ?? 0) >= samples || null);
  played(goesBack, samples);
  await until(() => goesBack.textOf(goesBack.message) === 'word word word');
  played(goesBack, 0);
  played(goesBack, samples, 'msg_unknown');
  goesBack.send({ type: 'interrupt' });
  await goesBack.until('audio.clear');
  played(goesBack, 10);
  await goesBack.until('turn.aborted');
  t.match(
    (await spoken(house, goesBack))[1],
    { content: 'word word word', voice: { audio_ms: 720 } },
    'the position never goes back',
  );
  t.equal(goesBack.textOf(goesBack.message), 'word word word');
  goesBack.socket.terminate();
}

async function eager(t: Test, house: House): Promise<void> {
  const caller = await opened(house, { model: 'tokens=40', characterMs: 60 });
  caller.send({ type: 'message', text: 'Hello' });
  const { message_id } = await caller.until('audio.start');
  // The half of the third word is played after 720 ms.
  const samples = 720 * 16;
  await until(() => (caller.received.get(message_id) ?? 0) >= samples || null);
  for (let at = 0; at <= samples; at += 4) caller.send({ type: 'played', message_id, samples: at });
  // Neither of another message nor of an earlier position.
  caller.send({ type: 'played', message_id: 'msg_unknown', samples: 3 * samples });
  caller.send({ type: 'played', message_id, samples: 4 });
  await until(() => caller.textOf(message_id) === 'word word word' || null);
  for (let times = 0; times < 1_000; times++) caller.send({ type: 'played', message_id, samples });
  caller.send({ type: 'interrupt' });
  await caller.until('audio.clear');
  for (let times = 0; times < 1_000; times++) caller.send({ type: 'played', message_id, samples: samples + 16 });
  await caller.until('turn.aborted');
  t.match(
    (await spoken(house, caller))[1],
    { content: 'word word word', voice: { heard: 'played', audio_ms: 721, cut_by: 'client' } },
    'the answer to a cut is one of them',
  );
  for (let times = 0; times < 120; times++) caller.send({ type: 'interrupt' });
  t.equal(await caller.closed, 1008, 'commands have their pace as before');
}

async function deaf(t: Test, house: House): Promise<void> {
  const caller = await started(house, {
    model: 'tokens=60',
    characterMs: 20,
    query: '&ahead_ms=5000&output_sample_rate=48000',
  });
  caller.socket.pause();
  // The playback position follows the clock, so the reply ends meanwhile.
  const [, reply] = await until(async () => {
    const messages = await spoken(house, caller);
    return messages.at(-1)?.status === 'completed' ? messages : null;
  });
  caller.socket.resume();
  await caller.until('turn.completed');
  t.equal(caller.textOf(reply.id), reply.content);
  t.equal(Math.floor(caller.received.get(reply.id)! / 48), reply.voice.audio_ms, 'nothing is lost');
  caller.send({ type: 'hangup' });
  t.equal(await caller.closed, 1000);
}

async function long(t: Test, house: House): Promise<void> {
  const caller = await opened(house, { model: 'tokens=3,first_ms=300' });
  const [before, after] = ['a'.repeat(7_995), 'and what was typed next'];
  caller.send({ type: 'message', text: before });
  await caller.until('turn.started');
  caller.send({ type: 'interrupt' });
  await caller.until('turn.withdrawn');
  caller.send({ type: 'message', text: after });
  await caller.until('turn.started', ({ text }) => text === `${before} and`);
  await caller.plays();
  await caller.until('turn.started', ({ text }) => text === 'what was typed next');
  t.same(
    (await spoken(house, caller)).filter(({ role }) => role === 'user').map(({ content }) => content),
    [`${before} and`, 'what was typed next'],
    'the rest is answered too, though nobody speaks',
  );
  caller.socket.terminate();
}

async function uncounted(t: Test, house: House): Promise<void> {
  const caller = await opened(house, { model: 'tokens=6', characterMs: 60 });
  caller.send({ type: 'message', text: 'Hello' });
  const { message_id: first } = await caller.until('audio.start');
  caller.send({ type: 'interrupt' });
  await caller.until('audio.clear');
  caller.send({ type: 'played', message_id: first, samples: 0 });
  await caller.until('turn.withdrawn');
  caller.send({ type: 'message', text: 'again' });
  await caller.until('audio.start', ({ message_id: id }) => id !== first);
  await caller.plays();
  await caller.until('turn.completed');
  caller.send({ type: 'hangup' });
  t.equal(await caller.closed, 1000);
  const [, { content }] = await spoken(house, caller);
  const totals = await until(async () => {
    const { json } = await house.ask(`/usage?assistant_id=${caller.session.assistant_id}`);
    return json.totals.speech_characters > 0 ? json.totals : null;
  });
  t.match(totals, { turns: 1, speech_characters: content.length });
}

/** The store may be writing the first words when the turn is stopped. */
async function abortedSoon(t: Test, house: House): Promise<void> {
  const aborts = Array.from({ length: 8 }, async () => {
    const caller = await opened(house, { model: 'tokens=30' });
    caller.send({ type: 'message', text: 'Hello' });
    const { turn_id: turnId } = await caller.until('turn.started');
    t.match((await house.ask(`/sessions/${caller.session.id}/turns/${turnId}/abort`, { method: 'POST' })).json, {
      status: 'aborted',
    });
    t.match(await caller.until('turn.aborted'), { cut_by: 'api' });
    t.match((await spoken(house, caller)).at(-1), { stop_reason: 'aborted', voice: { cut_by: 'api' } });
    t.notOk(caller.heard.some(({ type }) => type === 'turn.failed' || type === 'audio.end'));
    caller.socket.terminate();
  });
  await Promise.all(aborts);
}

async function breaks(t: Test, house: House): Promise<void> {
  const caller = await opened(house, { texts: 'hello_there', model: 'tokens=3' });
  const clip = await clipOf(house);
  for (let at = 0; at < clip.length / 2; at += 640) caller.send(clip.subarray(at, at + 640));
  t.equal((await caller.until('turn.started')).text, 'hello there', 'a second without audio is silence');
  await caller.plays();
  await caller.until('turn.completed');
  caller.socket.terminate();
}

async function odd(t: Test, house: House): Promise<void> {
  const caller = await opened(house, {
    texts: 'hello_there',
    model: 'tokens=4',
    query: '&sample_rate=44100&output_sample_rate=44100',
  });
  t.match(caller.heard[0], { sample_rate: 44_100, output_sample_rate: 44_100 });
  const clip = await clipOf(house);
  const samples = new Int16Array(clip.buffer, clip.byteOffset, clip.length / 2);
  const ratio = 44_100 / 16_000;
  const audio = Buffer.from(
    Int16Array.from(
      { length: Math.floor(samples.length * ratio) + 44_100 },
      (_, at) => samples[Math.floor(at / ratio)] ?? 0,
    ).buffer,
  );
  // Samples are cut in two by frames of odd lengths.
  for (let at = 0, size = 1; at < audio.length; at += size, size = size === 1 ? 1_763 : size === 1_763 ? 641 : 1)
    caller.send(audio.subarray(at, at + size));
  t.equal((await caller.until('turn.started')).text, 'hello there');
  await caller.plays();
  const { samples: sent } = await caller.until('audio.end');
  await caller.until('turn.completed');
  t.equal(sent, caller.received.get(caller.message), 'samples of the output');
  t.ok(Math.abs(sent - 19 * 20 * 44.1) < 44.1 * 20, `${sent} samples for 19 characters of 20 ms`);
  caller.socket.terminate();
}

/** A close, if there is one, is an announced refusal or a hangup. */
async function random(t: Test, house: House): Promise<void> {
  const clip = await clipOf(house);
  const text = fc.oneof(fc.string(), fc.constant('Hello'), fc.constant('constructor'));
  const messages = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.constantFrom<object>(
        { type: 'interrupt' },
        { type: 'flush' },
        { type: 'message', text: 'Hello' },
        { type: 'start', partials: false },
        { type: 'played', message_id: 'msg_1', samples: 5 },
      ),
    },
    { weight: 4, arbitrary: fc.nat(20).map((part) => clip.subarray(part * 640, (part + 20) * 640)) },
    {
      weight: 1,
      arbitrary: fc.record(
        {
          type: fc.oneof(
            fc.constantFrom('start', 'played', 'interrupt', 'flush', 'message', 'hangup', 'ready', 'audio'),
            text,
          ),
          text,
          samples: fc.oneof(fc.integer(), fc.double()),
          message_id: text,
          barge_in: text,
        },
        { requiredKeys: ['type'] },
      ),
    },
    { weight: 1, arbitrary: fc.oneof(fc.json(), fc.string()).map((each) => ({ raw: each })) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(messages, { maxLength: 25 }), async (sent) => {
      const caller = await opened(house, { texts: 'hello|yeah|and_more', model: 'tokens=20' });
      for (const each of sent) {
        if ('raw' in each) caller.socket.send(each.raw);
        else caller.send(each);
      }
      caller.send({ type: 'hangup' });
      const code = await caller.closed;
      const last = caller.heard.at(-1)!;
      if (code === 1000) return last.type === 'ended' && last['reason'] === 'hangup';
      return code === 1008 && last.type === 'error' && last['code'] === 'invalid_request';
    }),
    { seed: 18, numRuns: 60 },
  );
  t.equal((await house.ask('/sessions')).status, 200, 'the server goes on');
}

/**
 * A turn with a stored call is never withdrawn (contract 13): a call says so too, and its words begin no other message.
 */
async function calling(t: Test, house: House): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const reached = once(server, 'request');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const functions = [{ name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } }];
  const tool = await house.console(`/workspaces/${house.workspaceId}/tools`, {
    body: { kind: 'http', name: 'Slow', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, functions },
  });
  const caller = await opened(house, { model: 'call=look,tokens=2', fields: { tool_ids: [tool.json.id] } });
  caller.send({ type: 'message', text: 'first' });
  await reached;
  caller.send({ type: 'interrupt' });
  t.match(await caller.until('turn.aborted'), { cut_by: 'client', stop_reason: 'aborted' });
  t.same(
    caller.heard.filter(({ type }) => type === 'turn.withdrawn'),
    [],
  );
  const messages = await spoken(house, caller);
  t.match(messages, [
    { content: 'first' },
    {
      content: '',
      status: 'partial',
      stop_reason: 'aborted',
      tool_calls: [{ status: 'cancelled' }],
      voice: { cut_by: 'client' },
    },
  ]);
  caller.send({ type: 'message', text: 'second' });
  t.match(await caller.until('turn.started', ({ text }) => text !== 'first'), { text: 'second' });
  caller.socket.terminate();
}
