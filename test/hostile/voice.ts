/**
 * Hostile clients of voice: visits of sockets, broken upgrades, and requests to speak and for tokens, several at a
 * time, with a good socket beside them.
 */
import fc from 'fast-check';
import { routes } from '../../src/http/routes.ts';
import type { Owner } from '../folders.ts';
import { spoken, silence, speaker, talk } from '../providers/voice/talker.ts';
import { healthy, sendLot } from './barrage.ts';
import { changed, changes, cuts, inPieces, type Pieces } from './changes.ts';
import { Judge, type Edge } from './judge.ts';
import { headerNames, nastyValues } from './nasty.ts';
import { hostileRequests } from './requests.ts';
import { visitOnce } from './visitor.ts';
import { visits, type Sound, type Visit } from './visits.ts';
import { judgeVisit } from './voice-judge.ts';
import { openWorld, type World } from './world.ts';
import type { Runs } from './barrage.ts';

export interface VoiceWorld extends World {
  /** Assistants by what listens. */
  readonly assistants: { readonly synthetic: string; readonly embedded: string };
  readonly clip: Buffer;
  readonly bytesOf: (sound: Sound, bytes: number) => Uint8Array;
}

/** Longer than the text of a partial of it, and with characters of two code units. */
const heard = 'one-two-three-😀-four-five';

export async function openVoiceWorld(t: Owner, edge: Edge): Promise<VoiceWorld> {
  const world = await openWorld(t, edge);
  const synthetic = await speaker(world.house, {
    voice: { provider: 'synthetic', name: 'audio_ms=300', transcription_name: `text=${heard}` },
  });
  const embedded = await speaker(world.house);
  const clip = await spoken(world.house, embedded.id, 'What is the weather in London today?');
  await hearOnce(world, embedded.id, clip);
  const session = await world.house.session(synthetic.id);
  const ids = { ...world.ids, assistants: synthetic.id, sessions: session.id };
  return {
    ...world,
    ids,
    assistants: { synthetic: synthetic.id, embedded: embedded.id },
    clip,
    bytesOf: soundsWith(clip),
  };
}

/**
 * Loads the models for listening: on a busy machine that takes longer than a visit may, since voice processes come
 * last.
 */
async function hearOnce({ house }: World, assistantId: string, clip: Uint8Array): Promise<void> {
  const talker = await talk(house, assistantId);
  talker.burst(clip);
  talker.send({ type: 'finish' });
  await talker.until('transcript.final');
  await talker.closed;
}

/** Each sound as PCM of 16 kHz, repeated for as long as it is wanted. */
function soundsWith(clip: Buffer): VoiceWorld['bytesOf'] {
  const wave = (sample: (index: number) => number): Uint8Array =>
    new Uint8Array(Int16Array.from({ length: 32_000 }, (_, index) => sample(index)).buffer);
  const sine = (hertz: number, index: number): number => Math.sin((2 * Math.PI * hertz * index) / 16_000);
  let state = 1;
  const random = (): number => (state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0) / 2 ** 32;
  const all: Readonly<Record<Sound, Uint8Array>> = {
    silence: new Uint8Array(64_000),
    noise: wave(() => (random() - 0.5) * 8000),
    tone: wave((index) => 9000 * sine(440, index)),
    // Three voices, a new chord every half second, each of them swelling and fading.
    chords: wave(
      (index) =>
        [1, 5 / 4, 3 / 2].reduce(
          (sum, ratio) => sum + 4000 * sine(220 * 2 ** (Math.floor(index / 8000) / 6) * ratio, index),
          0,
        ) * Math.sin((Math.PI * (index % 8000)) / 8000),
    ),
    clip: Buffer.concat([silence(300), clip, silence(500)]),
    random: Uint8Array.from({ length: 64_000 }, () => random() * 256),
  };
  return (sound, bytes) => {
    const source = all[sound];
    const whole = new Uint8Array(bytes);
    for (let at = 0; at < bytes; at += source.length) whole.set(source.subarray(0, bytes - at), at);
    return whole;
  };
}

/** An upgrade as a client of WebSockets asks for it, with its headers and its bytes changed. */
const upgrades = ({ ids }: World): fc.Arbitrary<Pieces> =>
  fc
    .record({
      token: fc.constantFrom('', 'x', ids.sessions, '%', '&token=x', 'a.b'),
      wild: fc.array(
        fc.tuple(
          fc.constantFrom(...headerNames, 'Sec-WebSocket-Extensions', 'Sec-WebSocket-Accept', 'Upgrade', 'Connection'),
          fc.constantFrom(...nastyValues, 'token.x', 'token.', 'permessage-deflate'),
        ),
        { maxLength: 4 },
      ),
      dropped: fc.nat(12),
      ...{ changes, cuts },
    })
    .map(({ token, wild, dropped, changes, cuts }) => {
      const good = [
        ['Host', 'x'],
        ['Connection', 'Upgrade'],
        ['Upgrade', 'websocket'],
        ['Sec-WebSocket-Version', '13'],
        ['Sec-WebSocket-Key', 'AAAAAAAAAAAAAAAAAAAAAA=='],
      ] as const;
      const lines = [...good.filter((_, index) => index === 0 || index !== dropped), ...wild].map(
        ([name, value]) => `${name}: ${value}\r\n`,
      );
      return inPieces(
        changes.reduce(changed, `GET /transcription?token=${token} HTTP/1.1\r\n${lines.join('')}\r\n`),
        cuts,
      );
    })
    .filter((pieces) => pieces.length > 0);

/** The rows of the table that are about voice. */
const voiceRoutes = routes.filter(({ path }) => ['/speech', '/transcription-tokens', '/voices'].includes(path));

interface Lot {
  readonly listens: 'synthetic' | 'embedded';
  readonly visits: readonly Visit[];
  readonly requests: readonly Pieces[];
}

const lots = (world: World): fc.Arbitrary<Lot> =>
  fc.record({
    listens: fc.oneof({ arbitrary: fc.constant('synthetic' as const), weight: 9 }, fc.constant('embedded' as const)),
    visits: fc.array(visits, { minLength: 1, maxLength: together, size: 'max' }),
    requests: fc.array(fc.oneof(hostileRequests(world, voiceRoutes), upgrades(world)), {
      maxLength: together,
      size: 'max',
    }),
  });

/** Visits that are under way together, and requests. */
const together = 8;

/** Throws with the seed and the smallest lot that went wrong. `times`: visits and requests. */
export async function voiceBarrage(world: VoiceWorld, { seed, times, onProgress }: Runs): Promise<void> {
  const judge = await Judge.open(world.edge, world.house);
  let sent = 0;
  // A long run has time for one who says nothing for a minute.
  const patient = times >= 1000 ? quietMinute(world) : Promise.resolve();
  patient.catch(() => {});
  const run = async (lot: Lot): Promise<void> => {
    await throwLot(world, judge, lot);
    onProgress?.((sent += lot.visits.length + lot.requests.length));
  };
  // A small run ends at its first fault: a visit that hangs would hang again in each smaller lot, and the file end
  // before it is named.
  await fc.assert(fc.asyncProperty(lots(world), run), {
    seed,
    numRuns: Math.ceil(times / together),
    endOnFailure: times < 1000,
  });
  await patient;
}

export async function throwLot(world: VoiceWorld, judge: Judge, { listens, visits, requests }: Lot): Promise<void> {
  const beside = goodSocket(world, world.assistants[listens], listens === 'synthetic' ? heard : /london/i);
  beside.catch(() => {});
  await Promise.all([
    sendLot(world, judge, requests),
    ...visits.map((visit) => one(world, world.assistants[listens], visit)),
  ]);
  await beside;
  await healthy(world);
  const fault = faultOf(world);
  if (fault !== null) throw new Error(`The server logged a fault: ${fault}`);
}

/** Returns a fault that the server has logged, or null: nothing that a client sends is a fault of the server. */
export function faultOf({ house }: World): string | null {
  if (house.child.exitCode !== null || house.child.signalCode !== null) throw new Error('The server has ended.');
  return (
    /^.*"level":(?:50|60|"error"|"fatal").*$|^.*(?:Transcription failed|could not be taken).*$/m.exec(
      house.stdout() + house.stderr(),
    )?.[0] ?? null
  );
}

async function one(world: VoiceWorld, assistantId: string, visit: Visit): Promise<void> {
  let got = 'nothing';
  try {
    const visited = await visitOnce(world, assistantId, visit, world.bytesOf);
    got = `${visited.messages.join(' ')} and ${visited.code}`;
    judgeVisit(visit, visited);
  } catch (error) {
    throw new Error(`${(error as Error).message}\nof ${JSON.stringify(visit)}\ngot ${got}`);
  }
}

/** A caller who follows the contract, and must be heard whichever attacks run. */
async function goodSocket(world: VoiceWorld, assistantId: string, text: string | RegExp): Promise<void> {
  const audio = {
    do: 'audio',
    sound: 'clip',
    bytes: world.clip.length + silence(800).length,
    frameBytes: 640,
  } as const;
  const visit: Visit = {
    before: [],
    query: '',
    settings: { encoding: 'pcm_s16le', sampleRate: 16_000 },
    protocol: false,
    steps: [audio],
    leaving: 'finish',
  };
  const visited = await visitOnce(world, assistantId, visit, world.bytesOf);
  judgeVisit(visit, visited);
  const finals = visited.messages
    .map((message) => JSON.parse(message))
    .filter(({ type }) => type === 'transcript.final')
    .map(({ text }) => text as string);
  const isHeard = finals.length === 1 && (typeof text === 'string' ? finals[0] === text : text.test(finals[0]!));
  if (visited.code !== 1000 || !isHeard)
    throw new Error(`The good socket closed with ${visited.code} and heard ${JSON.stringify(finals)}.`);
}

/** A minute of silence, as fast as it passes. */
async function quietMinute({ house, assistants }: VoiceWorld): Promise<void> {
  const talker = await talk(house, assistants.synthetic);
  for (let second = 0; second < 60; second++) {
    talker.burst(silence(1000));
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  talker.send({ type: 'finish' });
  const code = await talker.closed;
  const done = talker.heard.at(-1);
  if (code !== 1000 || done?.['audio_ms'] !== 60_000 || talker.heard.some(({ type }) => type === 'transcript.final'))
    throw new Error(`A minute of silence ended with ${code}: ${JSON.stringify(talker.heard)}`);
}
