/** The delay of a transcription after its speech, the delay of speech after its text, and the cost of both. */
import { setTimeout as pause } from 'node:timers/promises';
import { parleyVoice, type VoiceHouse } from '../contenders/voice.ts';
import { cpuMicrosecondsOf, residentBytesOf } from '../harness/process.ts';
import { pick, type Measurement, type Question, type Size } from '../harness/question.ts';
import { median, quantile } from '../harness/statistics.ts';
import { humanClips, sentences, wordErrors } from '../load/clips.ts';
import type { Said, Talking } from '../load/talking.ts';
import type { Load } from '../load.ts';

type Sized = Readonly<Record<Size, number>>;

const speaking = new Map([1, 4, 8].map((sockets) => [sockets === 1 ? '1 socket' : `${sockets} sockets`, sockets]));
const [finalsOnly, flush, speech, silent, saturated, human] = [
  'finals only',
  'flush',
  '/speech',
  'silent sockets',
  'saturated',
  'human clips',
];
const [final50, final95, partial50, partial95, cpu] = [
  'end to final p50',
  'end to final p95',
  'onset to partial p50',
  'onset to partial p95',
  'CPU per second of speech',
];
const [first50, first95, memory, turnAlone, turnBeside, slower, busy] = [
  'first sample p50',
  'first sample p95',
  'memory of 2,000',
  'turn p99 alone',
  'turn p99 beside',
  'turn p99 beside ÷ alone',
  'recogniser busy',
];
const [words, wrong] = ['words', 'words wrong'];

/** The utterances of each socket in a round. */
const utterances: Sized = { full: 30, quick: 12, smoke: 1 };
const spoken: Sized = { full: 100, quick: 30, smoke: 3 };
const silentSockets: Sized = { full: 2000, quick: 500, smoke: 20 };
/** Enough for a core of a recogniser, finals alone included. */
const saturating: Sized = { full: 32, quick: 32, smoke: 2 };
const turnsMs: Sized = { full: 10_000, quick: 4_000, smoke: 100 };
const pairs: Sized = { full: 3, quick: 2, smoke: 1 };
const people: Sized = { full: Infinity, quick: Infinity, smoke: 1 };
/** Sockets opened at once. */
const abreast = 20;

/** Each socket says its clips one after another, beginning at another moment and with another clip. */
async function speakAll(
  { voiceProcesses, clips, talk }: VoiceHouse,
  sockets: number,
  count: number,
  query: string,
  flushes = false,
): Promise<Record<string, number>> {
  voiceProcesses();
  const talking: Talking[] = [];
  for (let index = 0; index < sockets; index++) talking.push(await talk(query));
  const before = cpuMicrosecondsOf(voiceProcesses());
  let speechMs = 0;
  const said: Said[] = [];
  await Promise.all(
    talking.map(async (one, index) => {
      await pause((index * 2_500) / sockets);
      for (let number = 0; number < count; number++) {
        const clip = clips[(index + number) % clips.length]!;
        said.push(await one.say(clip, flushes));
        speechMs += clip.endMs - clip.onsetMs;
      }
    }),
  ).finally(() => talking.forEach((one) => one.close()));
  const spent = cpuMicrosecondsOf(voiceProcesses()) - before;
  const finals = said.map(({ finalMs }) => finalMs);
  const partials = said.flatMap(({ partialMs }) => (partialMs === null ? [] : [partialMs]));
  const figures = { [final50]: median(finals), [final95]: quantile(finals, 0.95), [cpu]: spent / 1000 / speechMs };
  return partials.length === 0
    ? figures
    : { ...figures, [partial50]: median(partials), [partial95]: quantile(partials, 0.95) };
}

async function firstSamples({ voiceProcesses, speak }: VoiceHouse, count: number): Promise<Record<string, number>> {
  voiceProcesses();
  const firsts: number[] = [];
  // Two sentences: the second is made while the first is sent.
  for (let index = 0; index < count; index++)
    firsts.push(
      (await speak(`${sentences[index % sentences.length]}. ${sentences[(index + 1) % sentences.length]}.`)).firstMs,
    );
  return { [first50]: median(firsts), [first95]: quantile(firsts, 0.95) };
}

/**
 * Resident memory of the server after its heap was collected. Its voice processes know nothing of a socket on which
 * nobody has spoken.
 */
async function settledBytes({ house: { server } }: VoiceHouse): Promise<number> {
  await server.heapBytes();
  return residentBytesOf([server.child.pid!]);
}

async function silence(voice: VoiceHouse, count: number): Promise<Record<string, number>> {
  voice.voiceProcesses();
  const sockets: Talking[] = [];
  const openSome = async (): Promise<void> =>
    void sockets.push(...(await Promise.all(Array.from({ length: abreast }, () => voice.talk()))));
  try {
    // The first sockets load the code and data that all share.
    await openSome();
    const before = await settledBytes(voice);
    while (sockets.length < count + abreast) await openSome();
    return { [memory]: (((await settledBytes(voice)) - before) / 1e6 / count) * 2000 };
  } finally {
    for (const socket of sockets) socket.close();
    await Promise.all(sockets.map(({ closed }) => closed));
  }
}

const shape = { tokens: 20, rate: 0 };
const conversing = 4;

/** The p99 of turns for some seconds. */
async function turns(load: Load, voice: VoiceHouse, ms: number): Promise<number> {
  const requests = await voice.conversations(shape, Math.max(conversing, Math.ceil(ms / 10)));
  const { wholeMs } = await load.converse(voice, requests, 2, conversing, shape, performance.now() + ms);
  return quantile(wholeMs, 0.99);
}

/** Turns alone and beside sockets that keep the recognisers busy, in turns. */
async function beside(load: Load, voice: VoiceHouse, size: Size): Promise<Record<string, number>> {
  const [alone, with_, shares]: number[][] = [[], [], []];
  await turns(load, voice, turnsMs[size]);
  for (let pair = 0; pair < pairs[size]; pair++) {
    alone!.push(await turns(load, voice, turnsMs[size]));
    const sockets: Talking[] = [];
    while (sockets.length < saturating[size]) sockets.push(await voice.talk());
    let over = false;
    const talk = async (socket: Talking, index: number): Promise<void> => {
      // Lateness of these sockets is not measured.
      for (let number = index; !over; number++)
        await socket.say(voice.clips[number % voice.clips.length]!).catch(() => (over = true));
    };
    const talking = sockets.map(talk);
    await pause(size === 'smoke' ? 0 : 2_500);
    const [cpuBefore, startedAt] = [cpuMicrosecondsOf(voice.voiceProcesses()), performance.now()];
    with_!.push(await turns(load, voice, turnsMs[size]));
    shares!.push((cpuMicrosecondsOf(voice.voiceProcesses()) - cpuBefore) / 1000 / (performance.now() - startedAt));
    over = true;
    for (const socket of sockets) socket.close();
    await Promise.all(talking);
  }
  return {
    [turnAlone]: median(alone!),
    [turnBeside]: median(with_!),
    [slower]: median(with_!.map((ms, pair) => ms / alone![pair]!)),
    [busy]: median(shares!),
  };
}

async function humans({ talk, voiceProcesses }: VoiceHouse, most: number): Promise<Record<string, number>> {
  voiceProcesses();
  const errors: ReturnType<typeof wordErrors>[] = [];
  for (const { audio, text } of humanClips().slice(0, most))
    errors.push(wordErrors(text, await (await talk('&partials=false')).burst(audio)));
  const sum = (of: 'words' | 'wrong'): number => errors.reduce((all, one) => all + one[of], 0);
  return { [words]: sum('words'), [wrong]: sum('wrong') };
}

async function measure({
  instance,
  case: name,
  size,
  surroundings: { load },
}: Measurement): Promise<Record<string, number>> {
  const voice = instance as VoiceHouse;
  const sockets = speaking.get(name);
  if (sockets !== undefined) return speakAll(voice, sockets, Math.ceil(utterances[size] / Math.sqrt(sockets)), '');
  if (name === finalsOnly) return speakAll(voice, 1, utterances[size], '&partials=false');
  if (name === flush) return speakAll(voice, 1, utterances[size], '&partials=false&silence_ms=2000', true);
  if (name === speech) return firstSamples(voice, spoken[size]);
  if (name === silent) return silence(voice, silentSockets[size]);
  return name === saturated ? beside(load, voice, size) : humans(voice, people[size]);
}

const most = (text: string, name: string, figure: string, bound: number) =>
  ({ text, kind: 'value', of: pick(parleyVoice.name, name, figure), most: bound }) as const;

export const voice: Question = {
  name: 'voice',
  title: 'Voice',
  method:
    'Sentences of two seconds, made by the server itself, played to sockets at the pace of speech in frames of 20 ms, each followed by silence until its final. The end of speech is when its last sample was sent; the silence of 300 ms that ends it counts. CPU time is that of the voice processes. Turns alone and beside saturated recognisers alternate. Human clips, of `pocketsphinx-testdata`, are a smoke test: fewer than a thousand words say nothing of a rate.',
  figures: [
    ...[final50, final95, partial50, partial95].map((name) => ({ name, unit: 'ms' })),
    { name: cpu, unit: 's' },
    ...[first50, first95].map((name) => ({ name, unit: 'ms' })),
    { name: memory, unit: 'MB' },
    ...[turnAlone, turnBeside].map((name) => ({ name, unit: 'ms' })),
    ...[slower, busy, words, wrong].map((name) => ({ name, unit: '' })),
  ],
  contenders: [parleyVoice],
  cases: (size) => [
    silent,
    ...(size === 'smoke' ? [...speaking.keys()].slice(0, 1) : [...speaking.keys(), finalsOnly]),
    flush,
    speech,
    saturated,
    ...(humanClips().length > 0 ? [human] : []),
  ],
  // Each round is long, and the clips were spoken by the server already.
  warmUps: 0,
  goals: [
    most('end of speech to final, one socket, p50 ≤ 350 ms', '1 socket', final50, 350),
    most('end of speech to final, one socket, p95 ≤ 500 ms', '1 socket', final95, 500),
    most('after a flush p95 ≤ 150 ms', flush, final95, 150),
    most('first partial ≤ 700 ms after the onset', '1 socket', partial50, 700),
    most('CPU of a second of speech ≤ 0.04 s without partials', finalsOnly, cpu, 0.04),
    most('CPU of a second of speech ≤ 0.10 s with partials', '1 socket', cpu, 0.1),
    most('8 sockets on one recogniser: end of speech to final p95 ≤ 600 ms', '8 sockets', final95, 600),
    most('first sample of speech p50 ≤ 80 ms', speech, first50, 80),
    most('first sample of speech p95 ≤ 150 ms', speech, first95, 150),
    most('2,000 silent sockets ≤ 80 MB', silent, memory, 80),
    most('turn p99 beside saturated recognisers ≤ 1.25 × alone', saturated, slower, 1.25),
  ],
  measure,
};
