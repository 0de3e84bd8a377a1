import t from 'tap';
import { WheelClock } from '../../../src/base/clock.ts';
import { parseSynthetic, syntheticKeys, syntheticModel } from '../../../src/providers/model/synthetic.ts';
import { ask, ManualClock } from './provider.ts';

t.test('a name is read strictly', async (t) => {
  const defaults = {
    tokens: 20,
    delayMs: 0,
    firstMs: 0,
    failAt: null,
    failAs: 'provider_error',
    hangAt: null,
    text: 'word',
    unicode: false,
    usage: true,
    call: null,
    calls: 1,
    callRounds: 1,
    callBad: false,
  };
  t.same(parseSynthetic(''), defaults);
  t.same(
    parseSynthetic('tokens=200, delay_ms=20,first_ms=5,fail_at=50,fail_as=cut,hang_at=7,text=a=b,unicode=1,usage=0'),
    {
      ...defaults,
      tokens: 200,
      delayMs: 20,
      firstMs: 5,
      failAt: 50,
      failAs: 'cut',
      hangAt: 7,
      text: 'a=b',
      unicode: true,
      usage: false,
    },
  );
  for (const [name, bad] of [
    ['tokens=x', 'tokens'],
    ['tokens=', 'tokens'],
    ['tokens', 'tokens'],
    ['tokens=-1', 'tokens'],
    ['tokens=1.5', 'tokens'],
    ['tokens=1e3', 'tokens'],
    ['tokens=1000001', 'tokens'],
    ['tokens=1,tokens=1', 'tokens'],
    ['tokens=1,speed=2', 'speed'],
    ['tokens=1,', ''],
    ['unicode=yes', 'unicode'],
    ['fail_as=boredom', 'fail_as'],
    ['text=', 'text'],
    ['__proto__=1', '__proto__'],
    ['constructor=1', 'constructor'],
    ['Tokens=1', 'Tokens'],
  ] as const) {
    t.equal(parseSynthetic(name), bad, name);
  }
});

t.test('every key is documented and understood', async (t) => {
  const samples: Record<string, string> = { fail_as: 'cut', text: 'x' };
  for (const { key, meaning } of syntheticKeys()) {
    t.type(parseSynthetic(`${key}=${samples[key] ?? '1'}`), 'object', key);
    t.ok(meaning.length > 5, key);
  }
  t.equal(syntheticKeys().length, 13);
});

const playing = (name: string) => {
  const clock = new ManualClock();
  return {
    clock,
    heard: ask(syntheticModel(clock), {
      name,
      messages: [{ role: 'user', content: '12345678' }],
      systemPrompt: '1234',
    }),
  };
};

t.test('pieces come at their times', async (t) => {
  const { clock, heard } = playing('tokens=3,first_ms=100,delay_ms=10');
  t.equal(heard.pieces.length, 0);
  clock.advance(99);
  t.equal(heard.pieces.length, 0);
  clock.advance(1);
  t.equal(heard.pieces.length, 1);
  clock.advance(9);
  t.equal(heard.pieces.length, 1);
  clock.advance(11);
  t.equal(heard.said, 'word word word ');
  t.same(heard.endings, ['end']);
  t.same(heard.usageGiven, { inputTokens: 3, outputTokens: 3 });
});

t.test('failing, before the first piece and later, as it is told', async (t) => {
  for (const [name, pieces, ending] of [
    ['fail_at=0', 0, 'provider_error'],
    ['fail_at=4,fail_as=cut', 4, 'cut'],
    ['tokens=4,fail_at=4', 4, 'provider_error'],
    ['tokens=3,fail_at=4', 3, 'end'],
    ['tokens=0', 0, 'end'],
  ] as const) {
    const { clock, heard } = playing(name);
    t.same(heard.endings, [], 'never before start has returned');
    clock.advance(0);
    t.equal(heard.pieces.length, pieces, name);
    t.same(heard.endings, [ending], name);
  }
});

t.test('hanging stays silent until it is cancelled', async (t) => {
  const { clock, heard } = playing('tokens=9,hang_at=5');
  clock.advance(1_000_000);
  t.equal(heard.pieces.length, 5);
  t.same(heard.endings, []);
  heard.asked.cancel();
  t.equal(clock.timers, 0);
});

t.test('cancelling stops it between two pieces', async (t) => {
  const { clock, heard } = playing('tokens=9,delay_ms=10');
  clock.advance(20);
  const before = heard.pieces.length;
  heard.asked.cancel();
  clock.advance(1000);
  t.equal(heard.pieces.length, before);
  t.same(heard.endings, []);
  const { clock: other, heard: inner } = playing('tokens=9');
  inner.text = (piece) => {
    inner.pieces.push(piece);
    if (inner.pieces.length === 3) inner.asked.cancel();
  };
  other.advance(1000);
  t.equal(inner.pieces.length, 3);
  t.same(inner.endings, []);
});

t.test('without a delay it comes in bursts with room for others between', async (t) => {
  const clock = new ManualClock();
  const heard = ask(syntheticModel(clock), { name: 'tokens=1000' });
  let others = 0;
  const other = (): void => {
    others++;
    if (heard.endings.length === 0) clock.after(0, other);
  };
  clock.after(0, other);
  clock.advance(0);
  t.equal(heard.pieces.length, 1000);
  t.ok(others > 5);
});

t.test('unicode splits surrogate pairs and ends in whole characters', async (t) => {
  for (const tokens of [3, 4, 8, 11, 19]) {
    const { clock, heard } = playing(`tokens=${tokens},unicode=1`);
    clock.advance(0);
    t.equal(heard.pieces.length, tokens);
    t.ok(heard.said.isWellFormed());
    if (tokens > 3) t.notOk(heard.pieces.every((piece) => piece.isWellFormed()));
  }
});

t.test('the synthetic model reports zero usage, refuses a bad name, and runs on the real clock', async (t) => {
  const clock = new WheelClock();
  t.teardown(() => clock.stop());
  const model = syntheticModel(clock);
  const heard = ask(model, { name: 'tokens=300,usage=0,text=x' });
  t.equal(await heard.settled, 'end');
  t.equal(heard.said, 'x '.repeat(300));
  t.equal(heard.usageGiven, null);
  const wrong = ask(model, { name: 'nonsense' });
  t.same(wrong.endings, []);
  t.equal(await wrong.settled, 'provider_error');
});
