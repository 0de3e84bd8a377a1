/** Messages that a client can send on a socket again and again, and sockets that are opened and left. */
import type { Row, Sent } from './rows.ts';
import { frame, RawSocket } from './socket.ts';
import type { RepeatWorld } from './world.ts';

async function transcription({ house, visit, speaker, visited, port }: RepeatWorld, by: Row['by']): Promise<RawSocket> {
  const answer =
    by === 'visitor'
      ? await visit.ask('/transcription-tokens', { body: { session_id: visited.session } })
      : await house.ask('/transcription-tokens', { key: house.key, body: { assistant_id: speaker } });
  if (answer.status >= 300) throw new Error(`no token: ${answer.text}`);
  return RawSocket.open(port, `/transcription?token=${answer.json.token}`);
}

async function call({ house, talk, port }: RepeatWorld): Promise<RawSocket> {
  const answer = await house.ask('/call-tokens', { key: house.key, body: { session_id: talk } });
  if (answer.status >= 300) throw new Error(`no token: ${answer.text}`);
  return RawSocket.open(port, `/call?token=${answer.json.token}`);
}

const realtime = ({ house, speaker, port }: RepeatWorld): Promise<RawSocket> =>
  RawSocket.open(port, `/v1/realtime?model=${speaker}`, { authorization: `Bearer ${house.key}` });

const inspect = ({ house, port }: RepeatWorld, query = ''): Promise<RawSocket> =>
  RawSocket.open(port, `/console/api/inspect${query}`, { authorization: `Bearer ${house.operatorToken}` });

/** Frames in one write. */
const atOnce = 20_000;

/**
 * Sends so many frames as fast as the system takes them, and waits until the socket is closed or the last one is taken.
 */
async function burst(
  socket: RawSocket,
  times: number,
  make: (time: number) => Buffer,
  held: () => Promise<void>,
  refusal: RegExp | null,
): Promise<Sent> {
  let sent = 0;
  while (sent < times && socket.isOpen) {
    const frames: Buffer[] = [];
    for (const end = Math.min(times, sent + atOnce); sent < end; sent++) frames.push(make(sent));
    await socket.send(Buffer.concat(frames));
  }
  await socket.taken();
  await held();
  const came = socket.refusal ?? 'all taken';
  socket.destroy();
  return {
    sent,
    came,
    missed: (refusal === null ? came === 'all taken' : times <= paced || refusal.test(came))
      ? null
      : `the socket: ${came}`,
  };
}

/** A number of texts that is never beyond the pace. */
const paced = 100;
const tooFast = /"code":"invalid_request"/;

const onTranscription = (
  name: string,
  make: (time: number) => Buffer,
  refusal: RegExp | null,
  by: Row['by'] = 'key',
  covers: string | null = `transcription ${name}`,
): Row => ({
  name: `transcription ${name}${by === 'key' ? '' : ` of a ${by}`}`,
  by,
  covers,
  send: async (world, times, held) => burst(await transcription(world, by), times, make, held, refusal),
});

const onCall = (name: string, make: (time: number) => Buffer, refusal: RegExp | null): Row => ({
  name: `call ${name}`,
  by: 'key',
  covers: `call ${name}`,
  send: async (world, times, held) => burst(await call(world), times, make, held, refusal),
});

const onRealtime = (name: string, fields: object, refusal: RegExp | null = tooFast): Row => ({
  name: `realtime ${name}`,
  by: 'key',
  covers: `realtime ${name}`,
  send: async (world, times, held) =>
    burst(await realtime(world), times, always(text({ type: name, ...fields })), held, refusal),
});

const onInspect = (name: string, make: (time: number) => Buffer, refusal: RegExp | null): Row => ({
  name: `inspect ${name}`,
  by: 'operator',
  covers: `inspect ${name}`,
  send: async (world, times, held) => burst(await inspect(world), times, make, held, refusal),
});

const text = (message: object): Buffer => frame('text', JSON.stringify(message));
const always = (bytes: Buffer) => (): Buffer => bytes;
const [flush, tiny, empty, ping, pong] = [
  text({ type: 'flush' }),
  frame('binary', Buffer.alloc(2)),
  frame('binary'),
  frame('ping'),
  frame('pong'),
];

/** One socket after another, each with as many frames as its pace lets pass; the frames are counted. */
async function oneAfterAnother(
  times: number,
  frames: Buffer,
  each: number,
  open: () => Promise<RawSocket>,
): Promise<Sent> {
  let taken = 0;
  let sockets = 0;
  for (; sockets * each < times; sockets++) {
    const socket = await open();
    await socket.send(frames);
    await socket.taken();
    if (socket.isOpen) taken += each;
    socket.destroy();
  }
  return {
    sent: sockets * each,
    came: `${taken} taken on ${sockets} sockets`,
    missed: taken > 0 ? null : 'none was taken',
  };
}

/** Sockets that are opened and left at once. */
async function abandoned(times: number, open: () => Promise<RawSocket>): Promise<Sent> {
  const sockets = Math.ceil(times / 20);
  for (let sent = 0; sent < sockets; sent += 8)
    await Promise.all(Array.from({ length: Math.min(8, sockets - sent) }, async () => (await open()).destroy()));
  return { sent: sockets, came: 'opened', missed: null };
}

/** Sockets whose client reads nothing. */
async function unread(
  times: number,
  frames: readonly Buffer[],
  open: () => Promise<RawSocket>,
  held: () => Promise<void>,
): Promise<Sent> {
  const sockets = await Promise.all(Array.from({ length: 20 }, open));
  for (const socket of sockets) socket.pause();
  const each = Math.ceil(times / 20);
  // Messages that are not taken because nothing is read are no part of it: the socket's end waits for the reader.
  for (const socket of sockets)
    void socket.send(Buffer.concat(Array.from({ length: each }, (_, time) => frames[time % frames.length]!)));
  await held();
  for (const socket of sockets) socket.destroy();
  return { sent: each * 20, came: 'unread', missed: null };
}

export const messageRows: readonly Row[] = [
  onTranscription('start', always(text({ type: 'start', sample_rate: 16_000 })), tooFast),
  onTranscription('flush', always(flush), tooFast),
  onTranscription('flush', always(flush), tooFast, 'visitor', null),
  onTranscription('finish', always(text({ type: 'finish' })), /closed/),
  onTranscription('audio', always(tiny), null),
  onTranscription('empty audio', always(empty), null, 'key', null),
  onTranscription('audio and flush', (time) => (time % 2 === 0 ? tiny : flush), tooFast, 'key', null),
  onTranscription('ping', always(ping), tooFast),
  onTranscription('pong', always(pong), null, 'key', null),
  onTranscription('unknown message', always(text({ type: 'nothing' })), tooFast, 'key', null),
  onCall('start', always(text({ type: 'start', sample_rate: 16_000 })), tooFast),
  onCall('played', (time) => text({ type: 'played', message_id: `msg_${time}`, samples: time }), null),
  onCall('interrupt', always(text({ type: 'interrupt' })), tooFast),
  onCall('flush', always(flush), tooFast),
  onCall('message', always(text({ type: 'message', text: 'Hello' })), tooFast),
  onCall('hangup', always(text({ type: 'hangup' })), /closed/),
  onCall('audio', always(tiny), null),
  onRealtime('session.update', { session: { audio: { input: { turn_detection: null } } } }),
  onRealtime('input_audio_buffer.append', { audio: 'AAA=' }, null),
  onRealtime('input_audio_buffer.commit', {}),
  onRealtime('input_audio_buffer.clear', {}),
  onRealtime('conversation.item.create', {
    item: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] },
  }),
  onRealtime('conversation.item.truncate', { item_id: 'msg_none', audio_end_ms: 1 }),
  onRealtime('conversation.item.retrieve', { item_id: 'msg_none' }),
  onRealtime('response.create', {}),
  onRealtime('response.cancel', {}),
  onRealtime('unknown event', {}),
  onInspect('watch', (time) => text({ type: 'watch', kind: 'session', id: `ses_${time}` }), tooFast),
  onInspect('unwatch', (time) => text({ type: 'unwatch', kind: 'session', id: `ses_${time}` }), tooFast),
  onInspect('sync', always(text({ type: 'sync' })), tooFast),
  onInspect('ping', always(ping), tooFast),
  {
    name: 'transcription sockets opened and left',
    by: 'key',
    covers: 'GET /transcription',
    send: (world, times) => abandoned(times, () => transcription(world, 'key')),
  },
  {
    name: 'calls opened and left',
    by: 'key',
    covers: 'GET /call',
    send: (world, times) => abandoned(times, () => call(world)),
  },
  {
    name: 'realtime calls opened and left',
    by: 'key',
    covers: 'GET /v1/realtime',
    send: (world, times) => abandoned(times, () => realtime(world)),
  },
  {
    name: 'inspect sockets opened and left',
    by: 'operator',
    covers: 'GET /console/api/inspect',
    send: (world, times) => abandoned(times, () => inspect(world)),
  },
  {
    name: 'flushes on one socket after another',
    by: 'key',
    covers: null,
    send: (world, times) =>
      oneAfterAnother(times, Buffer.concat(Array.from({ length: paced / 2 }, () => [tiny, flush]).flat()), paced, () =>
        transcription(world, 'key'),
      ),
  },
  {
    name: 'unread pongs',
    by: 'key',
    covers: null,
    send: (world, times, held) => unread(times, [ping], () => transcription(world, 'key'), held),
  },
  {
    name: 'unread pictures',
    by: 'operator',
    covers: null,
    send: (world, times, held) =>
      unread(Math.min(times, paced * 20), [text({ type: 'sync' })], () => inspect(world), held),
  },
];
