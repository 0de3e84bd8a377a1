/**
 * The text of a reply that is stored while it is spoken: all that its listener may have heard, and no more (contract
 * 18).
 */
import t from 'tap';
import { lastSentenceOf, Reply, type ReplyOptions } from '../../../src/conversation/call/reply.ts';
import type { SynthesisEvent } from '../../../src/providers/voice/streaming-synthesis.ts';
import { planOf } from '../../../src/providers/voice/plan.ts';
import { StillClock } from '../../http/edge/still-clock.ts';

/** At 1,000 hertz a sample is a millisecond: each word lasts 100, and 60 lie between two. */
const [rate, frame, aheadMs] = [1_000, 20, 200];
const text = 'one two three four five six';
const spans = text.split(' ').map((_, index) => ({ from: index * 160, to: index * 160 + 100 }));
const samples = spans.at(-1)!.to;
/** The text whose audio begins within so many samples. */
const begunIn = (sent: number): string =>
  text
    .split(' ')
    .filter((_, index) => index * 160 < sent)
    .join(' ');

/** A reply that is spoken to a client that reports, and what is stored of it. */
function spoken(kept: () => Promise<boolean> = async () => true) {
  const stored: string[] = [];
  const frames: number[] = [];
  const runner = { supply: (word: string) => (stored.push(word), kept()), release: () => {} };
  async function* narrated(): AsyncGenerator<SynthesisEvent, void> {
    yield { type: 'sentence', from: 0, to: text.length, start: 0 };
    yield { type: 'plan', plan: planOf({ from: 0, raw: text, spokenText: text }, spans, samples) };
    for (let at = 0; at < samples; at += frame) yield { type: 'frame', bytes: new Uint8Array(1), samples: frame };
  }
  const reply: Reply = new Reply({
    ...{ clock: new StillClock(), rate, aheadMs, reports: () => true, isFree: () => true },
    narration: { spoken: narrated, push: () => {}, stop: () => {} },
    send: () => void frames.push(reply.mouth.cursor.sent),
    ...{
      ready: () => {},
      due: () => {},
      sent: () => {},
      played: () => {},
      delta: () => {},
      unstored: () => {},
      failed: (error: unknown) => t.fail(String(error)),
    },
  } as unknown as ReplyOptions);
  reply.runner = runner as never;
  reply.text(text);
  return { reply, frames, text: () => stored.join('') };
}

/** Everything that is ready has run. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

t.test('text is stored once its audio may be sent, at most as far ahead of the listener as they may be', async (t) => {
  const { reply, frames, text: stored } = spoken();
  reply.mouth.begin();
  for (let played = 0; played <= samples; played += 7) {
    reply.report(played);
    await settled();
    const sent = Math.min(samples, Math.floor((reply.mouth.cursor.reported! + aheadMs) / frame) * frame);
    t.equal(frames.at(-1), sent);
    if (stored() !== begunIn(sent)) t.fail(`"${stored()}" is stored when ${sent} ms are sent`);
  }
  t.equal(stored(), text);
});

t.test('a reply whose client is lost while a word of it is stored ends with what was sent', async (t) => {
  let store = (_: boolean): void => {};
  let waits = false;
  const {
    reply,
    frames,
    text: stored,
  } = spoken(() => (waits ? new Promise((resolve) => (store = resolve)) : Promise.resolve(true)));
  reply.mouth.begin();
  await settled();
  t.same([stored(), frames.at(-1)], ['one two', 200]);
  waits = true;
  reply.report(140);
  await settled();
  t.same([stored(), frames.at(-1)], ['one two three', 320], 'the word is on its way to the store');
  const { points } = await reply.settle('lost', 'sent');
  t.equal(text.slice(0, points), 'one two');
  store(true);
  await settled();
  t.equal(frames.at(-1), 320);
});

t.test('a reply that is paused while a word of it is stored goes on once it is resumed', async (t) => {
  let store = (_: boolean): void => {};
  const { reply, frames } = spoken(() => new Promise((resolve) => (store = resolve)));
  reply.mouth.begin();
  await settled();
  reply.mouth.pause();
  store(true);
  await settled();
  t.same(frames, []);
  reply.mouth.resume();
  await settled();
  t.equal(frames.at(-1), 160);
});

t.test('the last sentence of a text ends with the marks that close it', async (t) => {
  const endings: Readonly<Record<string, string>> = {
    'Hello. How are you?': ' How are you?',
    'Hi!" he said.': '" he said.',
    'One. Two (three).)': ' Two (three).)',
    'One... "Two?!"  \n': ' "Two?!"',
    'no end': 'no end',
    'One. and then': ' and then',
    '**Bold.**': '**Bold.**',
    '...': '...',
    '': '',
  };
  for (const [said, last] of Object.entries(endings)) t.equal(lastSentenceOf(said), last, said);
  // The definition, as a pattern that takes too long for a whole reply.
  const pattern = /[^.!?]*[.!?]*["'”’)*_]*$/u;
  const signs = ['a', ' ', '.', '!', '"', ')', '*'];
  for (let number = 0; number < signs.length ** 5; number++) {
    const said = Array.from(
      { length: 5 },
      (_, at) => signs[Math.floor(number / signs.length ** at) % signs.length]!,
    ).join('');
    if (lastSentenceOf(said) !== (said.trimEnd().match(pattern)?.[0] ?? '')) return t.fail(JSON.stringify(said));
  }
});
