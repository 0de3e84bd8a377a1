/** Text of a reply that is stored while it is spoken: the words that its listener may have heard (contract 18). */
import t from 'tap';
import { nobody } from '../../../src/actors/cause.ts';
import { Inspector } from '../../../src/actors/inspector.ts';
import { Reply, type ReplyOptions } from '../../../src/conversation/call/reply.ts';
import { lastSentenceOf } from '../../../src/conversation/call/transcript.ts';
import { Replies } from '../../../src/host/replies.ts';
import type { SynthesisEvent } from '../../../src/providers/voice/streaming-synthesis.ts';
import { planOf } from '../../../src/providers/voice/plan.ts';
import { StillClock } from '../../http/edge/still-clock.ts';

/** One sample is a millisecond at 1,000 hertz: each word lasts 100, with 60 between words. */
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
  const runner = {
    ...{ turnId: 'turn_a', messageId: 'msg_a', release: () => {} },
    supply: (word: string) => (stored.push(word), kept()),
  };
  async function* narrated(): AsyncGenerator<SynthesisEvent, void> {
    yield { type: 'sentence', from: 0, to: text.length, start: 0 };
    yield { type: 'plan', plan: planOf({ from: 0, raw: text, spokenText: text }, spans, samples) };
    for (let at = 0; at < samples; at += frame) yield { type: 'frame', bytes: new Uint8Array(1), samples: frame };
  }
  const port = {
    ...{ services: { clock: new StillClock() }, settings: { outputSampleRate: rate, aheadMs, readersBehindMs: 0 } },
    ...{ now: 0, context: { reports: true }, send: () => {}, tell: () => {}, isFree: () => true },
    sendAudio: (of: Reply) => void frames.push(of.playout.position.sent),
    spoiled: (error: unknown) => t.fail(String(error)),
  };
  const reply = new Reply({
    port,
    actor: new Replies(new Inspector()).open({
      ...{ id: 'call_a.1', workspaceId: 'wks_a', cause: nobody, greeting: false, early: false },
    }),
    narrate: () => ({ spoken: narrated, push: () => {}, stop: () => {} }),
  } as unknown as ReplyOptions);
  reply.begun(runner as never);
  reply.send({ type: 'announced' });
  reply.text(text);
  return { reply, frames, text: () => stored.join('') };
}

/** Resolves after all tasks that are ready. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

t.test('text is stored as its audio is sent, at most `ahead_ms` before the listener', async (t) => {
  const { reply, frames, text: stored } = spoken();
  reply.send({ type: 'begin' });
  for (let played = 0; played <= samples; played += 7) {
    reply.playout.report(played);
    await settled();
    const sent = Math.min(samples, Math.floor((reply.playout.position.reported! + aheadMs) / frame) * frame);
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
  reply.send({ type: 'begin' });
  await settled();
  t.same([stored(), frames.at(-1)], ['one two', 200]);
  waits = true;
  reply.playout.report(140);
  await settled();
  t.same([stored(), frames.at(-1)], ['one two three', 320], 'the word is on its way to the store');
  reply.send({ type: 'cut', by: 'lost', closing: true });
  const { points } = await reply.position;
  t.equal(text.slice(0, points), 'one two');
  store(true);
  await settled();
  t.equal(frames.at(-1), 320);
});

t.test('a reply that is paused while a word is stored continues when it is resumed', async (t) => {
  let store = (_: boolean): void => {};
  const { reply, frames } = spoken(() => new Promise((resolve) => (store = resolve)));
  reply.send({ type: 'begin' });
  await settled();
  reply.send({ type: 'pause' });
  store(true);
  await settled();
  t.same(frames, []);
  reply.send({ type: 'resume' });
  await settled();
  t.equal(frames.at(-1), 160);
});

t.test('the last sentence of a text includes its closing marks', async (t) => {
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
