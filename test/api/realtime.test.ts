/** Calls of OpenAI Realtime clients (contract 18): the same call in that API's events. */
import { once } from 'node:events';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { patient } from '../run/speed.mjs';
import { clipOf } from './caller.ts';
import { edge, type House, openWorkspace } from './house.ts';
import { until } from './talk.ts';

t.test(edge, async (t) => {
  const house = await openWorkspace();
  await t.test('words that are said are answered aloud', (t) => answered(t, house));
  await t.test('a text is answered once a response is asked for', (t) => typed(t, house));
  await t.test('a reply is cut where the client says', (t) => cut(t, house));
  await t.test('what the client says within 1.5 s of it is what was heard', (t) => truncated(t, house));
  await t.test('a client of the beta is told which field it has to change', (t) => beta(t, house));
  await t.test('speech over a reply is told once its words count', (t) => interrupted(t, house));
  for (const late of ['conversation.item.truncate', 'response.cancel'] as const)
    await t.test(`a ${late} that comes after the next words takes nothing from them`, (t) => lateCut(t, house, late));
  await t.test('the settings that hold', (t) => settings(t, house));
  await t.test('a turn that the client ends', (t) => manual(t, house));
  await t.test('speech that is told of, and a response that the client asks for', (t) => detected(t, house));
  await t.test('audio that is cleared is not heard', (t) => cleared(t, house));
  await t.test('a reply that is cut before a word of it was heard says by what', (t) => withdrawn(t, house));
  await t.test('a greeting that is cut is over', (t) => greeted(t, house));
  await t.test('what is not taken is an error, and the call goes on', (t) => refused(t, house));
  await t.test('[D2] words that wait for a person get an empty response', (t) => waits(t, house));
  await t.test('[D2] words without a response are stored for the person who takes the session', (t) =>
    handedOver(t, house),
  );
  await t.test('who may open it, and on what', (t) => admitted(t, house));
});

interface Event {
  readonly type: string;
  readonly [name: string]: any;
}

class Client {
  readonly socket: WebSocket;
  readonly events: Event[] = [];
  #woken = (): void => {};

  constructor(url: string, key: string, { headers = {}, protocols = [] }: Pick<Wish, 'headers' | 'protocols'> = {}) {
    this.socket = new WebSocket(url, [...protocols], { headers: { authorization: `Bearer ${key}`, ...headers } });
    this.socket.on('message', (data) => {
      this.events.push(JSON.parse(String(data)));
      this.#woken();
    });
    this.socket.on('close', () => this.#woken());
    this.socket.on('error', () => {});
  }

  send(event: object): void {
    this.socket.send(JSON.stringify(event));
  }

  /** The first event of the type from `from` on, past or coming. */
  async until(type: string, from = 0): Promise<Event> {
    for (;;) {
      const found = this.events.slice(from).find((event) => event.type === type);
      if (found !== undefined) return found;
      if (this.socket.readyState === WebSocket.CLOSED)
        throw new Error(`closed before ${type}: ${JSON.stringify(this.events.slice(-3))}`);
      await new Promise<void>((resolve) => (this.#woken = resolve));
    }
  }

  /** Says 16 kHz audio at 24 kHz, with silence behind it. */
  say(clip: Buffer, silentMs = 1_500): void {
    const samples = new Int16Array(clip.buffer, clip.byteOffset, clip.length / 2);
    const audio = Int16Array.from(
      { length: Math.floor(samples.length * 1.5) + silentMs * 24 },
      (_, at) => samples[Math.floor(at / 1.5)] ?? 0,
    );
    const bytes = Buffer.from(audio.buffer);
    for (let at = 0; at < bytes.length; at += 4_800)
      this.send({ type: 'input_audio_buffer.append', audio: bytes.subarray(at, at + 4_800).toString('base64') });
  }

  /** The types of the events from `from` on that match. */
  told(types: RegExp, from = 0): string[] {
    return this.events
      .slice(from)
      .map(({ type }) => type)
      .filter((type) => types.test(type));
  }

  textOf(itemId: string): string {
    return this.events
      .filter(({ type, item_id: id }) => type === 'response.output_audio_transcript.delta' && id === itemId)
      .map(({ delta }) => delta)
      .join('');
  }
}

interface Wish {
  readonly texts?: string;
  readonly characterMs?: number;
  readonly model?: string;
  readonly fields?: object;
  /** Headers and subprotocols of the upgrade. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly protocols?: readonly string[];
}

const speaking = ({ texts = 'hello', characterMs = 20, model = 'tokens=5', fields = {} }: Wish) => ({
  channels: { voice: true },
  model: { provider: 'synthetic', name: model },
  voice: { provider: 'synthetic', name: `character_ms=${characterMs}`, transcription_name: `texts=${texts}` },
  ...fields,
});

const urlOf = (house: House, model: string): string => `${house.url.replace('http', 'ws')}/v1/realtime?model=${model}`;

async function opened(t: Test, house: House, wish: Wish = {}): Promise<{ client: Client; session: any }> {
  const { id } = await house.assistant(speaking(wish));
  const client = new Client(urlOf(house, id), house.key, wish);
  t.teardown(() => client.socket.terminate());
  const { session } = await client.until('session.created');
  return { client, session };
}

const transcript = async (house: House, id: string): Promise<any[]> =>
  (await house.ask(`/sessions/${id}/transcript`)).json.data;

async function answered(t: Test, house: House): Promise<void> {
  const { client, session } = await opened(t, house, { texts: 'hello_there', model: 'tokens=4' });
  t.match(session, {
    type: 'realtime',
    object: 'realtime.session',
    output_modalities: ['audio'],
    instructions: '',
    tools: [],
    audio: {
      input: {
        format: { type: 'audio/pcm', rate: 24_000 },
        turn_detection: { type: 'server_vad', silence_duration_ms: 500 },
      },
      output: { format: { type: 'audio/pcm', rate: 24_000 } },
    },
  });
  client.say(await clipOf(house));
  const { response } = await client.until('response.done');
  t.same(
    client.events.map(({ type }) => type).filter((type) => !type.endsWith('.delta')),
    [
      ...[
        'session.created',
        'input_audio_buffer.speech_started',
        'input_audio_buffer.speech_stopped',
        'input_audio_buffer.committed',
        'conversation.item.added',
        'conversation.item.done',
      ],
      ...[
        'conversation.item.input_audio_transcription.completed',
        'response.created',
        'response.output_item.added',
        'conversation.item.added',
        'response.content_part.added',
      ],
      ...[
        'response.output_audio.done',
        'response.output_audio_transcript.done',
        'response.content_part.done',
        'response.output_item.done',
        'conversation.item.done',
        'response.done',
      ],
    ],
  );
  const [item] = response.output;
  t.match(response, { object: 'realtime.response', status: 'completed', usage: { total_tokens: Number } });
  t.equal(client.textOf(item.id), item.content[0].transcript);
  const [said] = client.events.filter(({ type }) => type === 'input_audio_buffer.committed');
  for (const type of ['conversation.item.added', 'conversation.item.done'])
    t.same(
      client.events
        .filter((event) => event.type === type)
        .map(({ previous_item_id: previous, item: { id } }) => [previous, id]),
      [
        [null, said!.item_id],
        [said!.item_id, item.id],
      ],
      type,
    );
  const audio = client.events
    .filter(({ type }) => type === 'response.output_audio.delta')
    .map(({ delta }) => Buffer.from(delta, 'base64'));
  t.ok(
    Buffer.concat(audio).length > 0 && audio.every(({ length }) => length > 0 && length <= 4_800),
    'at most 100 ms each',
  );
  t.match(await transcript(house, session.id), [
    { role: 'user', content: 'hello there' },
    {
      id: item.id,
      role: 'assistant',
      content: item.content[0].transcript,
      voice: { heard: 'estimated', cut_by: null },
    },
  ]);
  client.send({ type: 'conversation.item.retrieve', item_id: item.id });
  t.same((await client.until('conversation.item.retrieved')).item, item);
  t.equal(new Set(client.events.map(({ event_id: id }) => id)).size, client.events.length);
}

async function waits(t: Test, house: House): Promise<void> {
  const desk = { enabled: true, while_waiting: 'silent' };
  const { id } = await house.assistant(speaking({ texts: 'hello_there', fields: { desk } }));
  const session = await house.session(id);
  await house.ask(`/sessions/${session.id}/ask`, { method: 'POST' });
  const client = new Client(`${urlOf(house, id)}&session_id=${session.id}`, house.key);
  t.teardown(() => client.socket.terminate());
  await client.until('session.created');
  client.say(await clipOf(house));
  const { response } = await client.until('response.done');
  t.match(response, { status: 'completed', status_details: null, output: [] });
  const from = client.events.length;
  const content = [{ type: 'input_text', text: 'It is lost.' }];
  client.send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } });
  client.send({ type: 'response.create' });
  await client.until('response.done', from);
  t.same(client.told(/^(response|error)/), [...told, ...told], 'neither a sound nor an error');
  t.match(await transcript(house, session.id), [
    { content: 'hello there', voice: { audio_ms: Number }, turn_id: null },
    { content: 'It is lost.', turn_id: null },
  ]);
}
const told = ['response.created', 'response.done'];

/** The client never asks for a response, so the words can only be stored by the end of the call. */
async function handedOver(t: Test, house: House): Promise<void> {
  const { id } = await house.assistant(speaking({ texts: 'hello_there' }));
  const session = await house.session(id);
  const client = new Client(`${urlOf(house, id)}&session_id=${session.id}`, house.key);
  const closed = once(client.socket, 'close');
  await client.until('session.created');
  client.send({ type: 'session.update', session: { audio: { input: { turn_detection: null } } } });
  client.say(await clipOf(house));
  client.send({ type: 'input_audio_buffer.commit' });
  await client.until('conversation.item.input_audio_transcription.completed');
  const take = `/workspaces/${house.workspaceId}/sessions/${session.id}/take`;
  t.equal((await house.console(take, { method: 'POST' })).status, 200);
  t.equal((await closed)[0], 1000);
  const stored = await until(async () => {
    const messages = await transcript(house, session.id);
    return messages.some(({ role }) => role === 'user') ? messages : null;
  }, patient(10));
  t.match(stored, [{ role: 'user', content: 'hello there', voice: { audio_ms: Number }, turn_id: null }]);
  t.same(client.told(/^error/), []);
}

async function typed(t: Test, house: House): Promise<void> {
  const { client, session } = await opened(t, house, { model: 'tokens=3' });
  client.send({
    type: 'conversation.item.create',
    item: { id: 'mine', type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] },
  });
  t.equal((await client.until('conversation.item.done')).item.id, 'mine');
  t.same(await transcript(house, session.id), [], 'that alone begins no turn');
  client.send({ type: 'response.create' });
  const { response } = await client.until('response.done');
  t.equal(response.status, 'completed');
  t.match(await transcript(house, session.id), [
    { role: 'user', content: 'Hello', voice: null },
    { role: 'assistant' },
  ]);
}

const write = (client: Client, text: string): void => {
  client.send({
    type: 'conversation.item.create',
    item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
  });
  client.send({ type: 'response.create' });
};

async function cut(t: Test, house: House): Promise<void> {
  const { client, session } = await opened(t, house, { model: 'tokens=60', characterMs: 60 });
  write(client, 'Tell me a story');
  const { item_id: itemId } = await client.until('response.output_audio_transcript.delta');
  await until(() => client.textOf(itemId).split(' ').length > 4);
  client.send({ type: 'conversation.item.retrieve', item_id: itemId });
  t.match(
    (await client.until('conversation.item.retrieved')).item,
    { id: itemId, status: 'in_progress', content: [{ transcript: /^word word/ }] },
    'as it is so far',
  );
  client.send({ type: 'conversation.item.truncate', item_id: itemId, content_index: 0, audio_end_ms: 600 });
  t.match(await client.until('conversation.item.truncated'), { item_id: itemId, audio_end_ms: 600 });
  const { response } = await client.until('response.done');
  t.match(response, { status: 'cancelled', status_details: { type: 'cancelled', reason: 'client_cancelled' } });
  t.equal(
    client.events.filter(({ type, item_id: id }) => type === 'response.output_audio.done' && id === itemId).length,
    1,
    'the audio of a cut reply is over, too',
  );
  const [, reply] = await transcript(house, session.id);
  t.match(reply, { id: itemId, status: 'partial', stop_reason: 'aborted', voice: { cut_by: 'client' } });
  t.ok(client.textOf(itemId).startsWith(reply.content), 'it is not taken back what was told as heard');
  const from = client.events.length;
  write(client, 'Another');
  await client.until('response.output_audio.delta', from);
  client.send({ type: 'response.cancel' });
  t.equal((await client.until('response.done', from)).response.status, 'cancelled');
}

/** Readers are 1.5 s behind, so that a client may say within that time where its listener was. */
async function truncated(t: Test, house: House): Promise<void> {
  const { client, session } = await opened(t, house, { model: 'tokens=60', characterMs: 60 });
  write(client, 'Tell me a story');
  const { item_id: itemId } = await client.until('response.output_audio_transcript.delta');
  const told = client.textOf(itemId).split(' ').length;
  // A word of "word word word" lasts 240 ms and the space behind it 60 ms; a word counts with its half.
  client.send({
    type: 'conversation.item.truncate',
    item_id: itemId,
    content_index: 0,
    audio_end_ms: 300 * (told + 3) + 200,
  });
  await client.until('response.done');
  const [, reply] = await transcript(house, session.id);
  t.equal(reply.content.split(' ').length, told + 4, 'not a word more');
  t.equal(client.textOf(itemId), reply.content, 'readers have all of it, and nothing else');
  t.match(reply.voice, { heard: 'played', cut_by: 'client', audio_ms: 300 * (told + 3) + 200 });
}

async function interrupted(t: Test, house: House): Promise<void> {
  const { client, session } = await opened(t, house, {
    texts: 'hello_there|stop_it_now',
    model: 'tokens=80',
    characterMs: 60,
  });
  const clip = await clipOf(house);
  client.say(clip);
  await client.until('response.output_audio_transcript.delta');
  const from = client.events.length;
  client.say(clip);
  await client.until('response.done', from);
  const types = client.events.slice(from).map(({ type }) => type);
  t.ok(
    types.indexOf('input_audio_buffer.speech_started') >= 0 &&
      types.indexOf('input_audio_buffer.speech_started') < types.indexOf('response.done'),
    'before the reply has ended',
  );
  t.match((await client.until('response.done', from)).response, {
    status: 'cancelled',
    status_details: { reason: 'turn_detected' },
  });
  t.match((await transcript(house, session.id))[1], { status: 'partial', voice: { cut_by: 'speech' } });
}

/**
 * A slow client says where it cut a reply, or that it wants no more of it, when the person's words have already cut it
 * and are about to be answered.
 */
async function lateCut(t: Test, house: House, type: string): Promise<void> {
  const { client, session } = await opened(t, house, {
    texts: 'hello_there|stop_it_now',
    model: 'tokens=80',
    characterMs: 60,
  });
  const clip = await clipOf(house);
  client.say(clip);
  const { item_id: itemId, response_id: responseId } = await client.until('response.output_audio_transcript.delta');
  const from = client.events.length;
  client.say(clip);
  await client.until('conversation.item.input_audio_transcription.completed', from);
  // The next response may begin before the client knows the end of this one: a cancel names the one it means.
  const late =
    type === 'response.cancel'
      ? { type, response_id: responseId }
      : { type, item_id: itemId, content_index: 0, audio_end_ms: 600 };
  // From the end of the person's turn on until the first response is done.
  await until(() => {
    if (client.events.slice(from).some((event) => event.type === 'response.done')) return true;
    client.send(late);
    return false;
  });
  const { response } = await client.until('response.created', from);
  await until(() =>
    client.events.some(
      ({ type: of, response_id: id, delta: text }) =>
        of === 'response.output_audio_transcript.delta' && id === response.id && text !== '',
    ),
  );
  t.match(
    (await transcript(house, session.id))
      .map(({ role, content }) => [role, content])
      .filter(([role]) => role === 'user'),
    [
      ['user', 'hello there'],
      ['user', 'stop it now'],
    ],
  );
  const settled = (await transcript(house, session.id))[1].content;
  const last = client.events.length;
  client.send({ type: 'conversation.item.truncate', item_id: itemId, content_index: 0, audio_end_ms: 300 });
  t.equal(
    (await client.until('conversation.item.truncated', last)).item_id,
    itemId,
    'a cut that is too late is no error',
  );
  t.equal((await transcript(house, session.id))[1].content, settled, 'and changes nothing');
  client.send({ type: 'response.cancel', response_id: responseId, event_id: 'late' });
  await until(() => client.events.slice(last).some(({ error }) => error?.event_id === 'late'));
  t.notOk(
    client.events.some((event) => event.type === 'response.done' && event.response.id === response.id),
    'a cancel of the earlier response leaves the next one',
  );
}

async function settings(t: Test, house: House): Promise<void> {
  const { client } = await opened(t, house, { texts: 'hello_there' });
  const update = async (input: object, output: object = {}): Promise<any> => {
    const from = client.events.length;
    client.send({
      type: 'session.update',
      session: {
        type: 'realtime',
        instructions: 'Be a pirate.',
        tools: [{ type: 'function', name: 'x' }],
        audio: { input, output: { voice: 'alloy', ...output } },
      },
    });
    return (await client.until('session.updated', from)).session;
  };
  const { audio, instructions, tools } = await update(
    { turn_detection: { type: 'semantic_vad', eagerness: 'low' }, transcription: { model: 'whisper-1' } },
    { format: { type: 'audio/pcmu' } },
  );
  t.same(
    [instructions, tools, audio.output.format, audio.input.turn_detection.type],
    ['', [], { type: 'audio/pcmu' }, 'server_vad'],
    'what is ignored is told',
  );
  t.equal(
    (await update({ turn_detection: { type: 'server_vad', silence_duration_ms: 50 } })).audio.input.turn_detection
      .silence_duration_ms,
    200,
  );
  t.equal((await update({ turn_detection: null })).audio.input.turn_detection, null);
  t.same(
    (
      await update({
        format: { type: 'audio/pcma' },
        turn_detection: { type: 'server_vad', interrupt_response: false },
      })
    ).audio.input,
    {
      format: { type: 'audio/pcma' },
      transcription: { model: audio.input.transcription.model, language: null, prompt: null },
      noise_reduction: null,
      turn_detection: {
        type: 'server_vad',
        threshold: 0.5,
        prefix_padding_ms: 300,
        silence_duration_ms: 500,
        create_response: true,
        interrupt_response: false,
        idle_timeout_ms: null,
      },
    },
  );
  write(client, 'Hello');
  const { delta } = await client.until('response.output_audio.delta');
  t.ok(Buffer.from(delta, 'base64').length <= 800, 'mu-law at 8 kHz');
  client.send({ type: 'input_audio_buffer.append', audio: Buffer.alloc(160, 0xd5).toString('base64') });
  const from = client.events.length;
  client.send({
    type: 'session.update',
    session: { audio: { input: { format: { type: 'audio/pcm', rate: 24_000 } } } },
  });
  t.same(
    (await client.until('session.updated', from)).session.audio.input.format,
    { type: 'audio/pcma' },
    'audio has come',
  );
}

async function manual(t: Test, house: House): Promise<void> {
  const { client, session } = await opened(t, house, { texts: 'hello_there' });
  client.send({ type: 'session.update', session: { audio: { input: { turn_detection: null } } } });
  client.say(await clipOf(house), 4_000);
  client.send({ type: 'input_audio_buffer.commit' });
  await client.until('input_audio_buffer.committed');
  t.equal(
    (await client.until('conversation.item.input_audio_transcription.completed')).transcript,
    'hello there',
    'before a response is asked for',
  );
  t.same(await transcript(house, session.id), [], 'no silence ends it');
  t.same(client.told(/speech_/), [], 'nobody looks where speech begins and ends');
  client.send({ type: 'input_audio_buffer.commit', event_id: 'empty' });
  t.equal((await client.until('error')).error.event_id, 'empty', 'nothing was said since');
  client.send({ type: 'response.create' });
  await client.until('response.done');
  t.match((await transcript(house, session.id))[0], { content: 'hello there' });
  const from = client.events.length;
  client.send({ type: 'response.create', event_id: 'unsaid' });
  t.equal((await client.until('error', from)).error.event_id, 'unsaid', 'there is nothing to answer');
}

async function detected(t: Test, house: House): Promise<void> {
  for (const interrupts of [true, false]) {
    const { client, session } = await opened(t, house, { texts: 'one|two' });
    client.send({
      type: 'session.update',
      session: {
        audio: {
          input: {
            turn_detection: {
              type: 'server_vad',
              silence_duration_ms: 300,
              create_response: false,
              interrupt_response: interrupts,
            },
          },
        },
      },
    });
    t.match((await client.until('session.updated')).session.audio.input.turn_detection, {
      type: 'server_vad',
      silence_duration_ms: 300,
      create_response: false,
      interrupt_response: interrupts,
    });
    const clip = await clipOf(house);
    for (const said of ['one', 'two']) {
      const from = client.events.length;
      client.say(clip);
      t.equal((await client.until('conversation.item.input_audio_transcription.completed', from)).transcript, said);
      t.same(
        client.told(/^input_audio_buffer/, from),
        ['input_audio_buffer.speech_started', 'input_audio_buffer.speech_stopped', 'input_audio_buffer.committed'],
        'each by itself',
      );
    }
    t.same([await transcript(house, session.id), client.told(/^response/)], [[], []], 'no silence asks for a response');
    client.send({ type: 'response.create' });
    await client.until('response.done');
    t.match((await transcript(house, session.id))[0], { content: 'one two' });
  }
}

async function clearedIn(t: Test, house: House, clip: Buffer, detection: object | null): Promise<void> {
  const { client, session } = await opened(t, house, { texts: 'one|two|three' });
  client.send({ type: 'session.update', session: { audio: { input: { turn_detection: detection } } } });
  client.say(clip, 0);
  client.send({ type: 'input_audio_buffer.commit' });
  client.say(clip, 0);
  client.send({ type: 'input_audio_buffer.clear' });
  await client.until('input_audio_buffer.cleared');
  client.say(clip, 0);
  client.send({ type: 'input_audio_buffer.commit' });
  client.send({ type: 'response.create' });
  await client.until('response.done');
  const { content } = (await transcript(house, session.id))[0];
  t.match(content, /^one (two|three)$/, 'what was committed before, and what came after');
  t.equal(client.events.filter(({ type }) => type === 'input_audio_buffer.committed').length, 2);
  const open = client.events
    .filter(({ type }) => type === 'input_audio_buffer.speech_started')
    .map(({ item_id: id }) => id);
  const known = client.events
    .filter(({ type }) => type === 'input_audio_buffer.speech_stopped' || type === 'input_audio_buffer.committed')
    .map(({ item_id: id }) => id);
  t.same(
    open.filter((id) => !known.includes(id)),
    [],
    'speech that was told of has ended',
  );
}

async function cleared(t: Test, house: House): Promise<void> {
  const clip = await clipOf(house);
  await clearedIn(t, house, clip, null);
  await clearedIn(t, house, clip, { type: 'server_vad', silence_duration_ms: 3_000, create_response: false });
  const { client: heard, session: other } = await opened(t, house, { texts: 'one' });
  heard.say(clip, 0);
  await heard.until('input_audio_buffer.speech_started');
  heard.send({ type: 'input_audio_buffer.clear' });
  await heard.until('input_audio_buffer.speech_stopped');
  write(heard, 'Hello');
  await heard.until('response.done');
  t.match((await transcript(house, other.id))[0], { content: 'Hello' }, 'where silence ends a turn, too');
  t.notOk(heard.events.some(({ type }) => type === 'input_audio_buffer.committed'));
}

async function withdrawn(t: Test, house: House): Promise<void> {
  const { client, session } = await opened(t, house, { model: 'delay_ms=60000' });
  write(client, 'Hello');
  await client.until('response.created');
  client.send({ type: 'response.cancel' });
  t.match((await client.until('response.done')).response, {
    status: 'cancelled',
    status_details: { reason: 'client_cancelled' },
    output: [],
  });
  t.same(await transcript(house, session.id), []);
}

async function greeted(t: Test, house: House): Promise<void> {
  const greeting = 'Welcome to a house of many long words, which take their time.';
  const { client } = await opened(t, house, { fields: { greeting }, characterMs: 60 });
  const { response_id: id } = await client.until('response.output_audio.delta');
  client.send({ type: 'response.cancel' });
  t.match((await client.until('response.done')).response, {
    id,
    status: 'cancelled',
    status_details: { reason: 'client_cancelled' },
    output: [{ status: 'incomplete', content: [{ transcript: greeting }] }],
  });
}

async function refused(t: Test, house: House): Promise<void> {
  const { client } = await opened(t, house);
  const item = (fields: object) => ({
    type: 'conversation.item.create',
    item: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'x' }], ...fields },
  });
  /** An event, and the field that its error names. */
  const wrong: [object, string | null][] = [
    ...[
      { type: 'nonsense', event_id: 'mine' },
      { type: 'constructor' },
      { type: 'toString' },
      { type: '__proto__' },
      { type: 7 },
      {},
      { type: 'conversation.item.delete', item_id: 'x' },
    ].map((event): [object, string] => [event, 'type']),
    ...[
      { type: 'input_audio_buffer.append', audio: '***' },
      { type: 'input_audio_buffer.append' },
      { type: 'input_audio_buffer.append', audio: '' },
    ].map((event): [object, string] => [event, 'audio']),
    [{ type: 'input_audio_buffer.commit' }, null],
    ...[
      { type: 'conversation.item.retrieve', item_id: 'x' },
      { type: 'conversation.item.truncate', item_id: 'x', content_index: 0, audio_end_ms: 1 },
      { type: 'conversation.item.retrieve' },
    ].map((event): [object, string] => [event, 'item_id']),
    [{ type: 'conversation.item.truncate', item_id: 'x', audio_end_ms: -1 }, 'audio_end_ms'],
    [{ type: 'conversation.item.create' }, 'item'],
    [item({ type: 'function_call_output', call_id: 'c', output: '' }), 'item.type'],
    [item({ role: 'system' }), 'item.role'],
    [item({ content: [] }), 'item.content'],
    [item({ content: [{ type: 'input_image', image_url: 'x' }] }), 'item.content.0.text'],
    [item({ content: [{ type: 'input_text', text: ' ' }] }), 'item.content'],
    [{ type: 'response.cancel' }, null],
    [{ type: 'response.create' }, null],
    [{ type: 'session.update' }, 'session'],
    [
      { type: 'session.update', session: { audio: { input: { format: { type: 'audio/mp3' } } } } },
      'session.audio.input.format.type',
    ],
    [
      { type: 'session.update', session: { audio: { input: { turn_detection: { type: 'none' } } } } },
      'session.audio.input.turn_detection.type',
    ],
    [[], null],
  ];
  for (const [event, param] of wrong) {
    const from = client.events.length;
    client.send(event);
    const { error } = await client.until('error', from);
    t.match(
      error,
      { type: 'invalid_request_error', code: 'invalid_request', param, event_id: (event as any).event_id ?? null },
      JSON.stringify(event),
    );
  }
  client.socket.send('{');
  client.send({ type: 'input_audio_buffer.clear' });
  await client.until('input_audio_buffer.cleared');
  t.equal(client.events.filter(({ type }) => type === 'error').length, wrong.length + 1);
  for (let sent = 0; sent < 200; sent++) client.send({ type: 'input_audio_buffer.clear' });
  await until(() => client.socket.readyState === WebSocket.CLOSED);
  t.match(client.events.at(-1), { type: 'error', error: { code: 'invalid_request' } }, 'a pace that no client needs');
}

async function beta(t: Test, house: House): Promise<void> {
  const { client } = await opened(t, house, { model: 'tokens=3' });
  const old: [object, string][] = [
    [{ type: 'session.update', session: { modalities: ['text', 'audio'], instructions: '' } }, 'session.modalities'],
    [{ type: 'session.update', session: { input_audio_format: 'g711_ulaw' } }, 'session.input_audio_format'],
    [{ type: 'session.update', session: { output_audio_format: 'pcm16' } }, 'session.output_audio_format'],
    [{ type: 'session.update', session: { turn_detection: null } }, 'session.turn_detection'],
    [
      { type: 'session.update', session: { input_audio_transcription: { model: 'whisper-1' } } },
      'session.input_audio_transcription',
    ],
    [{ type: 'response.create', response: { modalities: ['audio', 'text'] } }, 'response.modalities'],
    [{ type: 'response.create', response: { output_audio_format: 'pcm16' } }, 'response.output_audio_format'],
  ];
  for (const [event, param] of old) {
    const from = client.events.length;
    client.send(event);
    t.match((await client.until('error', from)).error, {
      type: 'invalid_request_error',
      code: 'invalid_request',
      param,
      message: `The field \`${param}\` is one of the beta of the Realtime API, which is not spoken here.`,
    });
  }
  t.notOk(
    client.events.some(({ type }) => type === 'session.updated'),
    'nothing of it is taken',
  );
  client.send({
    type: 'session.update',
    session: {
      type: 'realtime',
      instructions: 'x',
      voice: 'alloy',
      tools: [],
      max_output_tokens: 5,
      output_modalities: ['audio'],
    },
  });
  await client.until('session.updated');
  for (const [headers, protocols] of [
    [{ 'openai-beta': 'realtime=v1' }, ['realtime']],
    [{}, ['realtime', 'openai-beta.realtime-v1']],
  ] as const) {
    const { client: old } = await opened(t, house, { model: 'tokens=3', headers, protocols });
    t.match((await old.until('error')).error, {
      param: 'OpenAI-Beta',
      message: 'The header `OpenAI-Beta` is one of the beta of the Realtime API, which is not spoken here.',
    });
    t.equal(old.events[0]?.type, 'session.created', 'the call goes on');
  }
}

async function admitted(t: Test, house: House): Promise<void> {
  const ask = async (query: string, key: string | null, protocols?: string[]): Promise<[number, any]> => {
    const socket = new WebSocket(
      `${house.url.replace('http', 'ws')}/v1/realtime${query}`,
      protocols ?? [],
      key === null ? {} : { headers: { authorization: `Bearer ${key}` } },
    );
    return new Promise((resolve, reject) => {
      socket.on('open', () => {
        socket.terminate();
        resolve([101, socket.protocol]);
      });
      socket.on('unexpected-response', (_, response) => {
        let text = '';
        response
          .on('data', (piece) => (text += piece))
          .on('end', () => resolve([response.statusCode!, JSON.parse(text).error]));
      });
      socket.on('error', reject);
    });
  };
  const { id } = await house.assistant({ ...speaking({ fields: { greeting: 'Welcome.' } }), alias: 'talker' });
  t.same(
    await ask('?model=talker', null, ['realtime', `openai-insecure-api-key.${house.key}`]),
    [101, 'realtime'],
    "a browser's way",
  );
  t.equal((await ask('?model=talker', null))[1].code, 'missing_api_key');
  t.equal((await ask('?model=talker', 'nonsense'))[1].code, 'invalid_api_key');
  t.match(await ask('?model=nobody', house.key), [
    404,
    { type: 'invalid_request_error', code: 'model_not_found', param: 'model' },
  ]);
  t.equal((await ask('', house.key))[1].param, 'model');
  const mute = await house.assistant({});
  t.match(await ask(`?model=${mute.id}`, house.key), [409, { code: 'voice_disabled' }]);
  t.equal((await ask('?model=talker&session_id=ses_nobody', house.key))[1].code, 'session_not_found');
  const session = await house.session(id);
  const client = new Client(`${urlOf(house, id)}&session_id=${session.id}`, house.key);
  t.equal((await client.until('session.created')).session.id, session.id, 'it goes on in a session');
  const { response } = await client.until('response.done');
  t.match(
    response,
    { status: 'completed', output: [{ content: [{ type: 'output_audio', transcript: 'Welcome.' }] }] },
    'the greeting is spoken',
  );
  const pinned = await house.session(id);
  await house.revise(id, { visitor_fields: [{ name: 'email', type: 'email', required: true }] });
  t.equal((await ask('?model=talker', house.key))[1].code, 'missing_visitor_fields');
  t.equal(
    (await ask(`?model=talker&session_id=${pinned.id}`, house.key))[0],
    101,
    'an open session requires the fields of its own version',
  );
  await house.revise(id, { visitor_fields: [] });
  const newer = new Client(`${urlOf(house, id)}&session_id=${session.id}`, house.key);
  await newer.until('session.created');
  await until(() => client.socket.readyState === WebSocket.CLOSED);
  newer.socket.terminate();
  const { key } = await house.newKey({ assistant_ids: [] });
  t.equal((await ask(`?model=${id}`, key))[1].code, 'model_not_found');
  const { key: counted } = await house.newKey({ limits: { transcription_tokens: 3 } });
  const socket = new WebSocket(urlOf(house, id), { headers: { authorization: `Bearer ${counted}` } });
  t.teardown(() => socket.terminate());
  const [{ headers }] = await once(socket, 'upgrade');
  t.match(
    headers,
    {
      'x-request-id': /^req_/,
      'x-session-id': /^ses_/,
      'x-ratelimit-limit': '3',
      'x-ratelimit-remaining': '2',
      'x-ratelimit-reset': /^\d+$/,
    },
    'an upgrade tells the rate as every answer to a key does',
  );
}
