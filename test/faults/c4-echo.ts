/** C4: the assistant's own words, heard by the microphone, never become the person's message. */
import { setTimeout as pause } from 'node:timers/promises';
import { clipOf, type Caller } from '../api/caller.ts';
import type { House } from '../api/house.ts';
import { transcriptOf } from '../api/talk.ts';
import type { Experiment, Trial } from './experiment.ts';
import { until } from './ground.ts';
import { Loudspeaker } from './loudspeaker.ts';
import { Microphone } from './microphone.ts';
import { asking, Script } from './script.ts';
import { Stage } from './stage.ts';

const sentencesCount = 7;
/** The sentences behind whose ends their last words are heard again. After three echoes nobody is heard over a reply any more. */
const echoed = [1, 3, 5];
/** A reply and its echoes are over long before. */
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
      const caller = await stage.call(house, await stage.assistant(house, `texts=${heard.map((words) => words.join('_')).join('|')}`));
      new Loudspeaker(caller);
      const microphone = new Microphone(caller, clip);
      caller.send({ type: 'message', text: asking(trial.seed, sentencesCount) });
      const { message_id: messageId } = await caller.until('turn.started');
      const end = over(caller);
      for (const [time, index] of echoed.entries()) {
        const last = heard[time]!.at(-1)!;
        await Promise.race([end, until(() => caller.textOf(messageId).includes(last) && caller.textOf(messageId).length >= sentences.slice(0, index + 1).join(' ').length - 4)]);
        microphone.hear(clip);
        await Promise.race([end, caller.until('transcript.final', ({ utterance }) => utterance === time + 1)]);
      }
      await check(trial, house, caller, end);
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
const loudness = 10 ** (-10 / 20);

export const ownWordsHeard: Experiment = {
  promise: 'C4',
  name: 'loudspeaker',
  does: 'the loudspeaker in the microphone, at -10 dB and 80 to 300 ms later, with the embedded voice',
  stores: ['lmdb'],
  abreast: { lmdb: 1, redis: 1 },
  async open(t, store) {
    const stage = await Stage.open(t, store, english.join(' '));
    const house = await stage.ground.server({ PARLEY_SYNTHETIC: '1' });
    const clip = await clipOf(house);
    return async (trial) => {
      const caller = await stage.call(house, await stage.assistant(house, '', { voice: { provider: 'embedded' } }));
      const [loudspeaker, microphone] = [new Loudspeaker(caller), new Microphone(caller, clip)];
      const delayMs = trial.random.between(80, 300);
      loudspeaker.onSound = (audio) => void setTimeout(() => microphone.hear(quieter(audio)), delayMs);
      caller.send({ type: 'message', text: 'recite' });
      await check(trial, house, caller, over(caller));
    };
  },
};

function quieter(audio: Buffer): Buffer {
  const samples = new Int16Array(audio.buffer.slice(audio.byteOffset, audio.byteOffset + audio.length));
  return Buffer.from(samples.map((sample) => sample * loudness).buffer);
}

/** The end of the one turn, or of the time that it may take. */
const over = (caller: Caller): Promise<unknown> =>
  Promise.race([until(() => caller.heard.find(({ type }) => type === 'turn.completed' || type === 'turn.aborted' || type === 'turn.withdrawn')), pause(replyMs, null, { ref: false })]);

async function check(trial: Trial, house: House, caller: Caller, end: Promise<unknown>): Promise<void> {
  await end;
  // Words that are still owed would begin a turn.
  await pause(2_000);
  const finals = caller.heard.filter(({ type }) => type === 'transcript.final');
  const told = JSON.stringify(finals.map(({ text, ignored }) => [text, ignored]));
  const turns = caller.heard.filter(({ type }) => type === 'turn.started');
  trial.must(turns.length === 1, `${caller.session.id}: its own words became the message ${JSON.stringify(turns.at(-1)?.['text'])}: ${told}`);
  trial.must(caller.heard.some(({ type }) => type === 'turn.completed'), `${caller.session.id}: the reply was not heard to its end: ${JSON.stringify(caller.heard.filter(({ type }) => type !== 'audio.received').slice(-14))}`);
  const messages = await transcriptOf(house, caller.session.id);
  trial.must(messages.length === 2, `${caller.session.id}: ${messages.length} messages`);
  trial.count('voices over the reply', caller.heard.filter(({ type }) => type === 'speech.started').length);
  trial.count('utterances over the reply', finals.length);
  trial.count('of them echoes', finals.filter(({ ignored }) => ignored === 'echo').length);
  caller.socket.terminate();
  await caller.closed;
}
