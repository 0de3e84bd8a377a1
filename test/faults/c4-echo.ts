/** C4: the assistant's own words, heard by the microphone, never become the person's message. */
import { setTimeout as pause } from 'node:timers/promises';
import { call, StreamPlayer } from '../../src/client/call.ts';
import { Parley } from '../../src/client/parley.ts';
import { clipOf, type Heard } from '../api/caller.ts';
import type { House } from '../api/house.ts';
import { transcriptOf } from '../api/talk.ts';
import type { Owner } from '../folders.ts';
import type { Experiment, StoreKind, Trial } from './experiment.ts';
import { until } from './ground.ts';
import { Loudspeaker } from './loudspeaker.ts';
import { frameSamples, Microphone, pacing } from './microphone.ts';
import { Room } from './room.ts';
import { asking, Script } from './script.ts';
import { Stage } from './stage.ts';

const sentencesCount = 7;
/**
 * The sentences behind whose ends their last words are heard again. After three echoes nobody is heard over a reply any
 * more.
 */
const echoed = [1, 3, 5];
/** Milliseconds long enough for a reply and its echoes. */
const replyMs = 60_000;

export const ownWordsAlike: Experiment = {
  promise: 'C4',
  name: 'words',
  does: 'a voice over the reply that is transcribed as words of it, three times',
  stores: ['lmdb'],
  abreast: { lmdb: 2, redis: 2 },
  async open(t, store) {
    const stage = await Stage.open(t, store);
    const house = await stage.ground.server({ PARLEY_SYNTHETIC: '1' });
    const clip = await clipOf(house);
    return async (trial) => {
      const sentences = new Script(trial.seed, sentencesCount).text.split(/(?<=\.)\**\s+/u);
      const heard = echoed.map((index) => ownWords(trial, sentences[index]!));
      const caller = await stage.call(
        house,
        await stage.assistant(house, `texts=${heard.map((words) => words.join('_')).join('|')}`),
      );
      new Loudspeaker(caller);
      const microphone = new Microphone(caller, clip);
      caller.send({ type: 'message', text: asking(trial.seed, sentencesCount) });
      const { message_id: messageId } = await caller.until('turn.started');
      const end = over(caller.heard);
      for (const [time, index] of echoed.entries()) {
        const last = heard[time]!.at(-1)!;
        await Promise.race([
          end,
          until(
            () =>
              caller.textOf(messageId).includes(last) &&
              caller.textOf(messageId).length >= sentences.slice(0, index + 1).join(' ').length - 4,
          ),
        ]);
        microphone.hear(clip);
        await Promise.race([end, caller.until('transcript.final', ({ utterance }) => utterance === time + 1)]);
      }
      await check(trial, house, caller.session.id, caller.heard, end);
      caller.socket.terminate();
      await caller.closed;
    };
  },
};

/** Two words or more in the order in which they are spoken, from the end of a sentence. */
function ownWords({ random }: Trial, sentence: string): string[] {
  const words = sentence.toLowerCase().match(/[a-z]+/gu)!;
  return words.slice(-random.between(2, Math.min(4, words.length)));
}

/** English that the embedded voice speaks and the embedded recogniser hears. */
const english = [
  'The library opens at nine in the morning and closes at six in the evening.',
  'Most visitors take the train, because parking in the old town is expensive.',
  'You can borrow up to ten books at a time, and keep them for four weeks.',
  'If you need more time, you may ask for it once on our website.',
];
const recital = (): string => english.join(' ');

export const ownWordsHeard: Experiment = {
  promise: 'C4',
  name: 'loudspeaker',
  does: 'the loudspeaker in the microphone, at -10 dB and 80 to 300 ms later, with the embedded voice',
  stores: ['lmdb'],
  abreast: { lmdb: 1, redis: 1 },
  open: (t, store) => inRoom(t, store, { recites: recital }),
};

/** Other words at the end: half a duplex may hear those. */
const endings = [
  'It is free.',
  'Ask at the desk.',
  'We look forward to your visit.',
  'The last one leaves at ten.',
  'Bring your card with you.',
  'That is all I know about it.',
  'Shall I send you the address?',
  'You can keep them for four weeks.',
];
const pick = <T>(all: readonly T[], message: string): T => all[Number(message.slice(-1)) % all.length]!;
const recitalWith = (message: string): string => `${pick(english, message)} ${pick(endings, message)}`;

const halfDuplexIn = (tailMs: 0 | 400): Experiment => ({
  promise: 'C4',
  name: tailMs === 0 ? 'half-duplex' : 'half-duplex-tail',
  does: `the same with barge_in=off${tailMs === 0 ? '' : `, in a room whose sound goes on for ${tailMs} ms`}`,
  stores: ['lmdb'],
  abreast: { lmdb: 1, redis: 1 },
  open: (t, store) => inRoom(t, store, { recites: recitalWith, query: '&barge_in=off', tailMs }),
});

/** A client that sends no audio while the reply is spoken and shortly after it, in rooms with and without a tail. */
const halfDuplexByClient: Experiment = {
  promise: 'C4',
  name: 'half-duplex-client',
  does: 'the same with parley-client, half duplex, 80 to 500 ms later',
  stores: ['lmdb'],
  abreast: { lmdb: 1, redis: 1 },
  async open(t, store) {
    const stage = await Stage.open(t, store, recitalWith);
    const house = await stage.ground.server({ PARLEY_SYNTHETIC: '1' });
    const parley = new Parley({ url: house.url, key: house.key });
    return async (trial) => {
      const session = await house.session(await stage.assistant(house, '', { voice: { provider: 'embedded' } }));
      const room = new Room(
        { delayMs: trial.random.between(80, 500), loudness: -10, tailMs: trial.random.pick([0, 400]) },
        trial.random,
      );
      const live = call(parley, session.id, { player: new StreamPlayer((audio) => room.play(Buffer.from(audio))) });
      live.halfDuplex = true;
      const heard: Heard[] = [];
      live.subscribe((event) => heard.push(event));
      const microphone = pacing(() => live.send(room.hear(frameSamples)));
      await until(() => live.state === 'listening' || null);
      live.message(`recite ${trial.seed % 8}`);
      await check(trial, house, session.id, heard, over(heard));
      await live.hangUp();
      microphone.stop();
    };
  },
};

export const halfDuplex: readonly Experiment[] = [halfDuplexIn(0), halfDuplexIn(400), halfDuplexByClient];

interface Recital {
  recites(message: string): string;
  readonly query?: string;
  readonly tailMs?: number;
}

/** Calls whose microphone hears their loudspeaker. */
async function inRoom(
  t: Owner,
  store: StoreKind,
  { recites, query = '', tailMs = 0 }: Recital,
): Promise<(trial: Trial) => Promise<void>> {
  const stage = await Stage.open(t, store, recites);
  const house = await stage.ground.server({ PARLEY_SYNTHETIC: '1' });
  const clip = await clipOf(house);
  return async (trial) => {
    const caller = await stage.call(
      house,
      await stage.assistant(house, '', { voice: { provider: 'embedded' } }),
      query,
    );
    const room = new Room({ delayMs: trial.random.between(80, 300), loudness: -10, tailMs }, trial.random);
    new Loudspeaker(caller).onSound = (audio) => room.play(audio);
    new Microphone(caller, clip).room = room;
    caller.send({ type: 'message', text: `recite ${trial.seed % 8}` });
    await check(trial, house, caller.session.id, caller.heard, over(caller.heard));
    caller.socket.terminate();
    await caller.closed;
  };
}

/** The end of the one turn, or of the time that it may take. */
const over = (heard: readonly Heard[]): Promise<unknown> =>
  Promise.race([
    until(() =>
      heard.find(({ type }) => type === 'turn.completed' || type === 'turn.aborted' || type === 'turn.withdrawn'),
    ),
    pause(replyMs, null, { ref: false }),
  ]);

async function check(
  trial: Trial,
  house: House,
  sessionId: string,
  heard: readonly Heard[],
  end: Promise<unknown>,
): Promise<void> {
  await end;
  // Words that are still owed would begin a turn.
  await pause(2_000);
  const finals = heard.filter(({ type }) => type === 'transcript.final');
  const told = JSON.stringify(finals.map(({ text, ignored }) => [text, ignored]));
  const turns = heard.filter(({ type }) => type === 'turn.started');
  trial.must(
    turns.length === 1,
    `${sessionId}: its own words became the message ${JSON.stringify(turns.at(-1)?.['text'])}: ${told}`,
  );
  trial.must(
    heard.some(({ type }) => type === 'turn.completed'),
    `${sessionId}: the reply was not heard to its end: ${JSON.stringify(heard.filter(({ type }) => type !== 'audio.received').slice(-14))}`,
  );
  const messages = await transcriptOf(house, sessionId);
  trial.must(messages.length === 2, `${sessionId}: ${messages.length} messages`);
  trial.count('voices over the reply', heard.filter(({ type }) => type === 'speech.started').length);
  trial.count('utterances over the reply', finals.length);
  trial.count('of them with words', finals.filter(({ text }) => text !== '').length);
  trial.count('of them echoes', finals.filter(({ ignored }) => ignored === 'echo').length);
}
