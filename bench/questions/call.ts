/**
 * The delays of a call as the person hears them: from their last voice to the reply, and from their voice over a reply
 * to its silence.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { parleyVoice, type VoiceHouse } from '../contenders/voice.ts';
import { cpuMicrosecondsOf, residentBytesOf } from '../harness/process.ts';
import { pick, type Measurement, type Question, type Size } from '../harness/question.ts';
import { median, quantile } from '../harness/statistics.ts';
import type { Calling, Spoken } from '../load/calling.ts';
import { clipOf, humanClips, sentences, type Clip } from '../load/clips.ts';
import { burst, chord, hum, promptFiles, prompts, withPause } from '../load/sounds.ts';

type Sized = Readonly<Record<Size, number>>;

const [finished, unfinished, four, whole, over, sounds, backchannels, silent] = [
  'finished sentences',
  'unfinished sentences',
  'four calls',
  'whole replies',
  'speech over a reply',
  'sounds over a reply',
  'backchannels over a reply',
  'silent calls',
];
const [people, peopleOver] = ['people', 'people over a reply'];
const pauses = [300, 500, 800, 1_100, 1_400];
const [pauseFinished, pauseUnfinished] = [
  (ms: number): string => `pause of ${ms} ms, finished`,
  (ms: number): string => `pause of ${ms} ms, unfinished`,
];

const [v2v50, v2v95, grows] = ['voice to voice p50', 'voice to voice p95', 'longer by turn'];
const [stop50, stop95, clear95, missed, falseCuts, falsePauses, gap] = [
  'to the pause p50',
  'to the pause p95',
  'to the clear p95',
  'missed cuts',
  'false cuts',
  'false pauses',
  'longest pause',
];
const [cutOff, cpu, memory, unanswered] = ['cut off', 'cores of a call', 'memory of a call', 'unanswered'];

const turns: Sized = { full: 50, quick: 12, smoke: 1 };
const few: Sized = { full: 12, quick: 4, smoke: 1 };
const wholes: Sized = { full: 8, quick: 3, smoke: 1 };
const interjected: Sized = { full: 40, quick: 8, smoke: 1 };
const paused: Sized = { full: 20, quick: 3, smoke: 1 };
const silentCalls: Sized = { full: 1_000, quick: 300, smoke: 20 };
const abreast = 20;

/** The text of a long reply, asked for in writing. */
const longReply = 'How do I get started?';
/** Sentences without a number at their end: a number may continue (contract 18). */
const completeSentences = sentences.filter((text) => !/ (zero|four)$/.test(text));
const openSentences = [
  'I would like to book a table for',
  'Please send the invoice to my',
  'The number is two nine three four zero',
  'There was nobody at home because',
];
const interjections = [
  'Stop',
  'No, the other one',
  'Wait a moment',
  'That is enough, thank you',
  'Stop talking please',
];
const murmurs = ['Uh-huh.', 'Yeah.', 'Okay.', 'Right.', 'Yes.', 'I see.'];
/** A question mark would make of "yes" an answer, so the last sentence heard must not have one: it has none. */
const noises = (): Clip[] => [
  burst(1, 150, 0.05),
  burst(2, 250, 0.1),
  burst(3, 400, 0.05),
  burst(4, 90, 0.02),
  hum(5, 800),
  chord(900),
];

const clipsOf = new WeakMap<VoiceHouse, Map<string, Clip>>();

/** A text as the server says it, made once. */
async function clip(voice: VoiceHouse, text: string): Promise<Clip> {
  const known = clipsOf.get(voice) ?? new Map<string, Clip>();
  clipsOf.set(voice, known);
  const found = known.get(text) ?? clipOf((await voice.speak(text)).audio);
  known.set(text, found);
  return found;
}

const clips = async (voice: VoiceHouse, texts: readonly string[]): Promise<Clip[]> => {
  const all: Clip[] = [];
  for (const text of texts) all.push(await clip(voice, text));
  return all;
};

const isState =
  (wanted: string) =>
  (message: { readonly type: string; readonly [field: string]: any }): boolean =>
    message.type === 'state' && message['state'] === wanted;

/**
 * One turn, whose reply is cut once it is heard, or heard to its end; resolves with the time from the last voice to the
 * first sound.
 */
async function answered(calling: Calling, said: Clip, toItsEnd = false): Promise<number> {
  const from = calling.place;
  const { endAt } = await calling.say(said);
  // A pause within what is said may have begun a reply that was taken back.
  const sound = await soundBehind(calling, from, endAt);
  // A reply without any heard word is withdrawn, and the person's words begin the next message.
  if (!toItsEnd) {
    await calling.until(({ type }, at) => type === 'message.delta' && at > sound, from);
    calling.send({ type: 'interrupt' });
  }
  const at = calling.place;
  await calling.until(isState('listening'), at);
  await pause(200);
  return sound - endAt;
}

async function soundBehind(calling: Calling, from: number, endAt: number): Promise<number> {
  const { message } = await calling.until(({ type }, at) => type === 'audio.start' && at > endAt, from);
  return calling.soundOf(message['message_id']);
}

/** The slope of a line through samples, by their number. */
function slope(samples: readonly number[]): number {
  const middle = (samples.length - 1) / 2;
  const mean = samples.reduce((sum, one) => sum + one, 0) / samples.length;
  const [above, below] = samples.reduce(
    ([up, down], one, index) => [up + (index - middle) * (one - mean), down + (index - middle) ** 2],
    [0, 0],
  );
  return below === 0 ? 0 : above / below;
}

const delays = (samples: readonly number[]): Record<string, number> => ({
  [v2v50]: median(samples),
  [v2v95]: quantile(samples, 0.95),
});

async function withCall<T>(voice: VoiceHouse, use: (calling: Calling) => Promise<T>, query = ''): Promise<T> {
  const calling = await voice.call(query);
  voice.voiceProcesses();
  try {
    calling.listen();
    await pause(100);
    return await use(calling);
  } finally {
    calling.close();
    await calling.closed;
  }
}

async function talks(voice: VoiceHouse, said: readonly Clip[], count: number, toTheirEnd = false): Promise<number[]> {
  return withCall(voice, async (calling) => {
    const samples: number[] = [];
    while (samples.length < count)
      samples.push(await answered(calling, said[samples.length % said.length]!, toTheirEnd));
    return samples;
  });
}

/** CPU time of server and voice processes while one call speaks and is spoken to, without a pause between its turns. */
async function wholeReplies(voice: VoiceHouse, count: number): Promise<Record<string, number>> {
  const said = await clips(voice, completeSentences);
  const { pid } = voice.house.server.child;
  const spent = (): number => cpuMicrosecondsOf([pid!, ...voice.voiceProcesses()]);
  const [before, startedAt] = [spent(), performance.now()];
  const samples = await talks(voice, said, count, true);
  return { ...delays(samples), [cpu]: (spent() - before) / 1000 / (performance.now() - startedAt) };
}

interface Interjected {
  readonly spoken: Spoken;
  readonly pausedAt: number | null;
  readonly clearedAt: number | null;
  readonly resumedAt: number | null;
}

/** Says something over a long reply, and waits for what becomes of the reply. */
async function interject(calling: Calling, said: Clip): Promise<Interjected> {
  const from = calling.place;
  calling.send({ type: 'message', text: longReply });
  const { message } = await calling.until(({ type }) => type === 'audio.start', from);
  await calling.soundOf(message['message_id']);
  await pause(500);
  const at = calling.place;
  const spoken = await calling.say(said);
  const isIts =
    (type: string) =>
    (one: { readonly type: string; readonly [field: string]: any }): boolean =>
      one.type === type && one['message_id'] === message['message_id'];
  // The decision is made by then: a pause takes a second at most.
  await Promise.race([calling.until(isIts('audio.clear'), at).catch(() => {}), pause(2_000)]);
  const find = (type: string): number | null =>
    calling.heard.slice(at).find((one) => isIts(type)(one.message))?.at ?? null;
  const found = {
    spoken,
    pausedAt: find('audio.pause'),
    clearedAt: find('audio.clear'),
    resumedAt: find('audio.resume'),
  };
  calling.send({ type: 'interrupt' });
  await pause(1_200);
  // Words over the reply have begun a new turn.
  calling.send({ type: 'interrupt' });
  await pause(300);
  return found;
}

async function spokenOver(voice: VoiceHouse, said: readonly Clip[], count: number): Promise<Interjected[]> {
  return withCall(voice, async (calling) => {
    const all: Interjected[] = [];
    while (all.length < count) all.push(await interject(calling, said[all.length % said.length]!));
    return all;
  });
}

const share = (part: number, all: number): number => (100 * part) / all;

function cuts(all: readonly Interjected[]): Record<string, number> {
  const stops = all.flatMap(({ spoken, pausedAt }) => (pausedAt === null ? [] : [pausedAt - spoken.onsetAt]));
  const clears = all.flatMap(({ spoken, clearedAt }) => (clearedAt === null ? [] : [clearedAt - spoken.onsetAt]));
  return {
    [stop50]: median(stops),
    [stop95]: quantile(stops, 0.95),
    [clear95]: quantile(clears, 0.95),
    [missed]: share(all.length - clears.length, all.length),
  };
}

function noCuts(all: readonly Interjected[]): Record<string, number> {
  const [cleared, stopped] = [
    all.filter(({ clearedAt }) => clearedAt !== null),
    all.filter(({ pausedAt }) => pausedAt !== null),
  ];
  const gaps = all.flatMap(({ pausedAt, resumedAt }) =>
    pausedAt === null || resumedAt === null ? [] : [resumedAt - pausedAt],
  );
  return {
    [falseCuts]: share(cleared.length, all.length),
    [falsePauses]: share(stopped.length, all.length),
    [gap]: Math.max(0, ...gaps),
  };
}

/** Number of replies that are heard before the person continues after a pause. */
async function cutOffs(voice: VoiceHouse, ms: number, open: boolean, count: number): Promise<Record<string, number>> {
  const begins = await clips(voice, open ? openSentences : completeSentences);
  const goesOn = await clip(voice, 'And I need it before tomorrow morning');
  return withCall(voice, async (calling) => {
    let heard = 0;
    for (let number = 0; number < count; number++) {
      const { first, rest } = withPause(begins[number % begins.length]!, ms, goesOn);
      const from = calling.place;
      void calling.say(first);
      const { onsetAt, endAt } = await calling.say(rest);
      const told = calling.heard
        .slice(from)
        .flatMap(({ message }) => (message.type === 'audio.start' ? [message['message_id'] as string] : []));
      if (told.some((id) => (calling.soundAt.get(id) ?? Infinity) < onsetAt)) heard++;
      await soundBehind(calling, from, endAt);
      const at = calling.place;
      calling.send({ type: 'interrupt' });
      await calling.until(isState('listening'), at);
      await pause(300);
    }
    return { [cutOff]: share(heard, count) };
  });
}

async function settledBytes({ house: { server } }: VoiceHouse): Promise<number> {
  await server.heapBytes();
  return residentBytesOf([server.child.pid!]);
}

async function silence(voice: VoiceHouse, count: number): Promise<Record<string, number>> {
  const open: Calling[] = [];
  const openSome = async (): Promise<void> =>
    void open.push(...(await Promise.all(Array.from({ length: abreast }, () => voice.call()))));
  try {
    // The first calls load the code and data that all share.
    await openSome();
    const before = await settledBytes(voice);
    while (open.length < count + abreast) await openSome();
    return { [memory]: ((await settledBytes(voice)) - before) / 1024 / count };
  } finally {
    for (const calling of open) calling.close();
    await Promise.all(open.map(({ closed }) => closed));
  }
}

/** People who read cards; a recording in which no voice is found is left out of the delays. */
async function humans(voice: VoiceHouse, count: number): Promise<Record<string, number>> {
  const said = [...humanClips().map(({ audio }) => clipOf(audio)), ...prompts()].slice(0, count);
  const samples: number[] = [];
  await withCall(voice, async (calling) => {
    for (const one of said)
      await answered(calling, one).then(
        (ms) => samples.push(ms),
        () => {},
      );
  });
  return { ...(samples.length > 0 && delays(samples)), [unanswered]: share(said.length - samples.length, said.length) };
}

async function measure({ instance, case: name, size }: Measurement): Promise<Record<string, number>> {
  const voice = instance as VoiceHouse;
  if (name === silent) return silence(voice, silentCalls[size]);
  if (name === whole) return wholeReplies(voice, wholes[size]);
  if (name === finished) {
    const samples = await talks(voice, await clips(voice, completeSentences), turns[size]);
    return { ...delays(samples), [grows]: slope(samples) };
  }
  if (name === unfinished) return delays(await talks(voice, await clips(voice, openSentences), few[size]));
  if (name === four) {
    const said = await clips(voice, completeSentences);
    return delays(
      (
        await Promise.all(
          Array.from({ length: 4 }, (_, index) => pause(index * 700).then(() => talks(voice, said, few[size]))),
        )
      ).flat(),
    );
  }
  if (name === over) return cuts(await spokenOver(voice, await clips(voice, interjections), interjected[size]));
  if (name === peopleOver) return cuts(await spokenOver(voice, prompts(), few[size]));
  if (name === sounds) return noCuts(await spokenOver(voice, noises(), interjected[size]));
  if (name === backchannels) return noCuts(await spokenOver(voice, await clips(voice, murmurs), interjected[size]));
  if (name === people) return humans(voice, few[size] * 2);
  const ms = pauses.find((one) => [pauseFinished(one), pauseUnfinished(one)].includes(name))!;
  return cutOffs(voice, ms, name === pauseUnfinished(ms), paused[size]);
}

const most = (text: string, name: string, figure: string, bound: number, obstacle?: string) =>
  ({
    text,
    kind: 'value',
    of: pick(parleyVoice.name, name, figure),
    most: bound,
    ...(obstacle !== undefined && { obstacle }),
  }) as const;

export const call: Question = {
  name: 'call',
  title: 'Calls',
  method:
    'Calls with the embedded model and the embedded voice. Clips are sent at the pace of speech in frames of 20 ms, silence between them; the client plays what it is sent as it comes, and reports it every 250 ms. Voice to voice: from the last voiced sample of a clip, as it is sent, to the first sound of the reply, silence before it included, without a network. Speech over a reply begins half a second behind its first sound; its times count from its onset. Noises are bursts, hum and tones made here; sentences, interjections and backchannels are spoken by the voice of the server itself (flite), not by people. A pause is put between two such sentences; cut off is who heard a reply before they went on. People are those of `pocketsphinx-testdata` and the speaker of `asterisk-core-sounds-en-wav` (8 kHz): too few for a rate.',
  figures: [
    ...[v2v50, v2v95, grows, stop50, stop95, clear95].map((name) => ({ name, unit: 'ms' })),
    ...[missed, falseCuts, falsePauses].map((name) => ({ name, unit: '%' })),
    { name: gap, unit: 'ms' },
    ...[cutOff, unanswered].map((name) => ({ name, unit: '%' })),
    { name: cpu, unit: '' },
    { name: memory, unit: 'KB' },
  ],
  contenders: [parleyVoice],
  cases: (size) =>
    size === 'smoke'
      ? [silent, finished]
      : [
          ...[silent, finished, unfinished, whole, four, over, sounds, backchannels],
          ...pauses.flatMap((ms) => [pauseFinished(ms), pauseUnfinished(ms)]),
          ...(humanClips().length + promptFiles().length > 0 ? [people] : []),
          ...(promptFiles().length > 0 ? [peopleOver] : []),
        ],
  // Each round is long, and the clips were spoken by the server already.
  warmUps: 0,
  goals: [
    {
      headline: 'End of speech to the first sound of the reply in a call, p50',
      ...most(
        'voice to voice, finished sentences, p50 ≤ 550 ms',
        finished,
        v2v50,
        550,
        'The silence that ends a turn is 500 ms (contract 18), looked at in windows of 32 ms that come in frames of 20. The reply is ready by then.',
      ),
    },
    most('voice to voice, finished sentences, p95 ≤ 750 ms', finished, v2v95, 750),
    most('voice to voice, unfinished sentences, p95 ≤ 1,500 ms', unfinished, v2v95, 1_500),
    most('voice to voice, four calls, p95 ≤ 950 ms', four, v2v95, 950),
    most('voice to voice grows by ≤ 1 ms a turn', finished, grows, 1),
    most('speech over a reply to its pause p95 ≤ 350 ms', over, stop95, 350),
    most('speech over a reply to its clear p95 ≤ 700 ms', over, clear95, 700),
    most('missed cuts ≤ 2 %', over, missed, 2),
    most('no cut by a sound', sounds, falseCuts, 0),
    most('cuts by a backchannel ≤ 2 %', backchannels, falseCuts, 2),
    most('cut off in a pause of 800 ms, unfinished, ≤ 5 %', pauseUnfinished(800), cutOff, 5),
    most('a speaking call ≤ 0.2 cores', whole, cpu, 0.2),
    most('a silent call ≤ 60 KB', silent, memory, 60),
  ],
  measure,
};
