/**
 * V1 and V2: every utterance has exactly one final, in time, and stable text never changes, while voice processes are
 * killed.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { House } from '../api/house.ts';
import { spoken, speaker, talk, type Heard, type Talker } from '../providers/voice/talker.ts';
import type { Experiment, Trial } from './experiment.ts';
import { Ground } from './ground.ts';

const socketsCount = 3;
const utterancesCount = 5;
const silenceMs = 300;
/** Promised beyond the silence (contract 8), and beyond that while a process is replaced. */
const [finalMs, replacedMs] = [600, 1_500];

const sentences = [
  'What is the weather in London today?',
  'Seven of hearts.',
  'I would like to book a table for four.',
  'Yes.',
  'The number is two nine three four zero.',
];

const finals = (name: string, kills: boolean): Experiment => ({
  promise: 'V1',
  name,
  does: `utterances in frames of any size at the pace of speech${kills ? ', voice processes killed meanwhile' : ''}`,
  stores: ['lmdb'],
  abreast: { lmdb: 1, redis: 1 },
  async open(t, store) {
    const ground = await Ground.open(t, store);
    const house = await ground.server();
    const { id } = await speaker(house);
    const audio: Buffer[] = [];
    for (const sentence of sentences) audio.push(await spoken(house, id, sentence));
    await talk(house, id).then(({ socket }) => socket.close());
    return (trial) => speakOn(trial, { house, id, audio, kills });
  },
});

export const everyFinal = finals('finals', false);
export const everyFinalDespiteKills = finals('killed', true);

interface Scene {
  readonly house: House;
  readonly id: string;
  readonly audio: readonly Buffer[];
  readonly kills: boolean;
}

async function speakOn(trial: Trial, scene: Scene): Promise<void> {
  let over = false;
  const finals = { count: 0 };
  const killer = scene.kills ? kill(trial, scene.house.child.pid!, finals, () => over) : Promise.resolve();
  await Promise.all(Array.from({ length: socketsCount }, () => speakOne(trial, scene, finals)));
  over = true;
  await killer;
}

async function speakOne(trial: Trial, { house, id, audio, kills }: Scene, finals: Finals): Promise<void> {
  const talker = await talk(house, id);
  /** When each millisecond of audio was sent. */
  const sent: number[] = [];
  const heardAt = new Map<Heard, number>();
  talker.socket.on('message', () => {
    const message = talker.heard.at(-1)!;
    heardAt.set(message, performance.now());
    if (message.type === 'transcript.final') finals.count++;
  });
  const startedAt = performance.now();
  for (let count = 0; count < utterancesCount; count++) {
    const pauseMs = trial.random.between(500, 1200);
    await say(trial, talker, Buffer.concat([Buffer.alloc(pauseMs * 32), trial.random.pick(audio)]), sent, startedAt);
  }
  await say(trial, talker, Buffer.alloc(1_000 * 32), sent, startedAt);
  // The last words are final before `finish` is sent.
  await pause(finalMs + (kills ? replacedMs : 0));
  talker.send({ type: 'finish' });
  const code = await talker.closed;
  trial.must(code === 1000, `the socket was closed with ${code}: ${JSON.stringify(talker.heard.at(-1))}`);
  judge(
    trial,
    talker,
    (final) => heardAt.get(final)! - sent[Math.min(sent.length - 1, final['end_ms'])]! - silenceMs,
    kills,
  );
}

/** Frames of any length, at the pace of speech. */
async function say(trial: Trial, { socket }: Talker, audio: Buffer, sent: number[], startedAt: number): Promise<void> {
  for (let at = 0; at < audio.length;) {
    const bytes = trial.random.between(1, 3200);
    const frame = audio.subarray(at, at + bytes);
    at += frame.length;
    const endMs = sent.length + frame.length / 32;
    await pause(Math.max(0, startedAt + endMs - performance.now()));
    socket.send(frame);
    const now = performance.now();
    while (sent.length < endMs) sent.push(now);
  }
}

function judge(trial: Trial, { heard }: Talker, lateness: (final: Heard) => number, kills: boolean): void {
  const of = (type: string) => heard.filter((message) => message.type === type);
  const [starts, ends] = [of('speech.started'), of('transcript.final')];
  trial.count('utterances', starts.length);
  trial.count('partials', of('transcript.partial').length);
  for (const { utterance } of starts) {
    const its = ends.filter((final) => final['utterance'] === utterance);
    trial.must(its.length === 1, `utterance ${utterance} has ${its.length} finals`);
    const partials = of('transcript.partial').filter((partial) => partial['utterance'] === utterance);
    const texts = [...partials, ...its].map(({ text, stable = 0 }) => ({ text: [...text], stable }));
    for (const [index, { text, stable }] of texts.entries()) {
      const held = text.slice(0, stable).join('');
      for (const later of texts.slice(index + 1))
        trial.must(
          later.text.slice(0, stable).join('') === held,
          `stable text changed: ${JSON.stringify(held)} became ${JSON.stringify(later.text.join(''))}`,
        );
    }
  }
  trial.must(ends.length === starts.length, `${starts.length} utterances and ${ends.length} finals`);
  for (const final of ends)
    if (final['reason'] === 'silence')
      trial.took('from the end of the silence to the final', lateness(final), finalMs + (kills ? replacedMs : 0));
}

/** Finals on all sockets so far. */
interface Finals {
  count: number;
}

/**
 * Ends one of the server's voice processes, again and again, but not before the one after it has done something: work
 * that ends three processes is given up.
 */
async function kill(trial: Trial, server: number, finals: Finals, over: () => boolean): Promise<void> {
  while (!over()) {
    const before = finals.count;
    await pause(trial.random.between(500, 4_000));
    while (!over() && finals.count === before) await pause(50);
    const children = readFileSync(`/proc/${server}/task/${server}/children`, 'utf8')
      .trim()
      .split(' ')
      .filter((pid) => pid !== '');
    if (over() || children.length === 0) continue;
    try {
      process.kill(Number(trial.random.pick(children)), 'SIGKILL');
      trial.count('kills');
    } catch {
      // The server has just been replaced.
    }
  }
}
