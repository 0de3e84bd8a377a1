/** The cost of voice sockets and the console's feed to a server, beside its turns. */
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { operatorToken, parley } from '../contenders/parley.ts';
import { floor, startProgram } from '../contenders/simple.ts';
import { parleyVoice, type VoiceHouse } from '../contenders/voice.ts';
import { built } from '../harness/built.ts';
import type { Contender, Instance } from '../harness/contender.ts';
import { cpuMicrosecondsOf } from '../harness/process.ts';
import { pick, type Measurement, type Question, type Size } from '../harness/question.ts';
import { bytesPerMs } from '../load/clips.ts';
import { parleyFormat } from '../load/stream.ts';

const [frame, rest] = ['a frame of audio', 'at rest'];
const [perFrame, idle] = ['CPU per frame', 'core in use'];

/** Number of sockets that one recogniser transcribes in time, each with frames of 20 ms at the pace of speech. */
const sockets = 8;
const frameMs = 20;
const speakMs: Readonly<Record<Size, number>> = { full: 20_000, quick: 8_000, smoke: 100 };
const restMs: Readonly<Record<Size, number>> = { full: 10_000, quick: 4_000, smoke: 50 };

const open = new WeakMap<Instance, readonly WebSocket[]>();

async function opened(url: string, headers: Readonly<Record<string, string>> = {}): Promise<WebSocket> {
  const socket = new WebSocket(url, { perMessageDeflate: false, headers });
  socket.on('error', () => {});
  socket.on('message', () => {});
  await once(socket, 'open');
  return socket;
}

const echo: Contender = {
  name: 'echo',
  note: 'uWebSockets.js alone, which sends each frame back.',
  standing: 'always',
  start: async (surroundings) =>
    startProgram(await built(new URL('../echo.ts', import.meta.url)), surroundings, parleyFormat),
};

const listening: Contender = {
  ...parleyVoice,
  name: 'parley, listening',
  note: 'The embedded voice. The voice processes, to which each frame is passed on, are on the other core and do not count.',
};

const watched: Contender = {
  name: 'parley, watched',
  note: 'The same with the feed of live actors open, as a page of the console has it.',
  standing: 'always',
  async start(surroundings) {
    const instance = await parley.start(surroundings);
    await opened(`ws://127.0.0.1:${instance.ports[0]}/console/api/inspect`, {
      authorization: `Bearer ${operatorToken}`,
    });
    return instance;
  },
};

/** The sockets of a server, opened when they are first asked for. */
async function socketsOf(instance: Instance, contender: string): Promise<readonly WebSocket[]> {
  const openOne =
    contender === echo.name
      ? () => opened(`ws://127.0.0.1:${instance.ports[0]}/`)
      : async () => (await (instance as VoiceHouse).talk()).socket;
  const found = open.get(instance) ?? (await Promise.all(Array.from({ length: sockets }, openOne)));
  open.set(instance, found);
  return found;
}

async function measure({ instance, contender, case: name, size }: Measurement): Promise<Record<string, number>> {
  const talking = name === frame ? await socketsOf(instance, contender) : [];
  const pids = instance.processes.map(({ child }) => child.pid!);
  const before = cpuMicrosecondsOf(pids);
  if (name === rest) {
    await pause(restMs[size]);
    return { [idle]: (cpuMicrosecondsOf(pids) - before) / (restMs[size] * 10) };
  }
  const frames = await speak(talking, speakMs[size]);
  return { [perFrame]: (cpuMicrosecondsOf(pids) - before) / frames };
}

/** Sends silence on all sockets, at the pace of speech; resolves with the number of frames. */
async function speak(talking: readonly WebSocket[], lastingMs: number): Promise<number> {
  const silence = Buffer.alloc(frameMs * bytesPerMs);
  const startedAt = performance.now();
  let sent = 0;
  for (let atMs = 0; atMs < lastingMs; atMs += frameMs) {
    await pause(Math.max(0, startedAt + atMs - performance.now()));
    for (const socket of talking) socket.send(silence);
    sent += talking.length;
  }
  return sent;
}

export const rooms: Question = {
  name: 'rooms',
  title: 'Voice sockets and the console',
  method: `${sockets} sockets, each sent silence in frames of ${frameMs} ms at the pace of speech; CPU time of the server's own process for a frame. At rest: nobody asks anything; CPU time in percent of a core.`,
  figures: [
    { name: perFrame, unit: 'µs' },
    { name: idle, unit: '%' },
  ],
  contenders: [echo, listening, floor, parley, watched],
  yardstick: { contender: echo.name, figure: perFrame },
  cases: () => [frame, rest],
  takes: ({ name }, asked) => (name === echo.name || name === listening.name) === (asked === frame),
  goals: [
    {
      text: 'a frame of audio ≤ 3 × a bare echo',
      kind: 'ratio',
      of: pick(listening.name, frame, perFrame),
      against: pick(echo.name, frame, perFrame),
      most: 3,
    },
    {
      text: 'the console at rest ≤ 0.5 % of a core',
      kind: 'difference',
      of: pick(watched.name, rest, idle),
      against: pick(parley.name, rest, idle),
      most: 0.5,
    },
  ],
  measure,
};
