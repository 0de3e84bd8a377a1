/** A decoding with a guess reads the guess at once and gives the same text as without. */
import t from 'tap';
import { openFlite } from '../../../src/providers/voice/engine/flite.ts';
import { Recogniser } from '../../../src/providers/voice/engine/moonshine.ts';

const speak = await openFlite();
const recogniser = await Recogniser.open(null);
const { samples } = speak(
  'I would like to book a table for four people on Friday evening.',
  { name: 'slt', file: null },
  1,
  false,
);
const whole = await recogniser.decode(samples);

t.test('the words of a text are placed in its speech', (t) => {
  t.match(whole.text.toLowerCase(), /book a table for four people on friday/);
  t.end();
});

t.test('an earlier decoding of the same utterance', async (t) => {
  for (const share of [0.4, 0.7, 0.9]) {
    const { tokens } = await recogniser.decode(samples.subarray(0, Math.floor(samples.length * share)));
    t.ok(tokens.length > 0 && tokens.length <= whole.tokens.length + 2);
    t.same(await recogniser.decode(samples, tokens), whole, `${share} of it`);
  }
});

t.test('a guess that is right, too long, or of something else', async (t) => {
  t.same(await recogniser.decode(samples, whole.tokens), whole);
  const beyond = [...whole.tokens, ...new Array<number>(200).fill(300)];
  t.match((await recogniser.decode(samples, beyond)).text.toLowerCase(), /book a table for four people on friday/);
  t.match(
    (await recogniser.decode(samples, [300, 301, 302])).text.toLowerCase(),
    /book a table for four people on friday/,
  );
});

t.test(
  'a guess that is right is one run of the decoder: it asks no more than once whether the result is wanted',
  async (t) => {
    let asked = 0;
    const count = (): boolean => {
      asked++;
      return false;
    };
    await recogniser.decode(samples, [], count);
    t.ok(asked >= whole.tokens.length, 'once for each token');
    asked = 0;
    await recogniser.decode(samples, whole.tokens, count);
    t.equal(asked, 1, 'at its end alone');
  },
);

t.test('a cancelled decoding has no text', async (t) => {
  const { tokens, text } = await recogniser.decode(samples, [], () => true);
  t.equal(text, '');
  t.ok(tokens.length < whole.tokens.length);
  const guessed = await recogniser.decode(samples, whole.tokens, () => true);
  t.same(guessed, { text: '', tokens: whole.tokens });
});
