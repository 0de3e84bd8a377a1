/** The sentences of a text that comes a little at a time, and when each is given. */
import t from 'tap';
import { SentenceStream } from '../../../src/providers/voice/sentence-stream.ts';

const stream = (sayable: (text: string) => string = (text) => text): SentenceStream =>
  new SentenceStream({ sayable, spells: true });
const raws = (sentences: readonly { raw: string }[]): string[] => sentences.map(({ raw }) => raw);

t.test('a sentence is whole once another begins, or 150 ms behind its end', async (t) => {
  const one = stream();
  t.same(one.push('We are open.', 0), []);
  t.equal(one.dueAt, 150);
  t.same(raws(one.push(' From nine', 100)), ['We are open. ']);
  t.equal(one.dueAt, null, 'only the first is cut short');
  t.same(one.push(' to six!"', 5_000), []);
  t.same(one.look(5_149), []);
  t.same(one.look(5_150), [{ from: 13, raw: 'From nine to six!"', spokenText: 'From nine to six!"', silent: 0 }]);
  t.same(one.end(), []);
  const short = stream();
  short.push('Ask Dr.', 0);
  t.not(short.dueAt, 150, 'an abbreviation ends nothing');
});

t.test('the first piece ends at a clause after 400 ms, at a word after 900 ms', async (t) => {
  const clause = stream();
  t.same(clause.push('Well, as far as I know, it is 1,000', 0), []);
  t.equal(clause.dueAt, 400);
  t.same(clause.look(399), []);
  t.same(raws(clause.look(400)), ['Well, as far as I know, ']);
  t.same(clause.push('and then, so to say, it goes on and on', 2_000), []);
  t.equal(clause.dueAt, null);
  const word = stream();
  word.push('one two three four five six se', 0);
  t.same(word.look(400), []);
  t.equal(word.dueAt, 900);
  t.same(raws(word.look(900)), ['one two three four five six ']);
  t.same(raws(word.end()), ['se']);
  for (const [text, more, raw] of [
    ['Well, no', ', one more: then', 'Well, no, one more: '],
    ['one two three — four', '', 'one two three — '],
    ['one two three four five', ' six seven', 'one two three four five six '],
  ] as const) {
    const few = stream();
    few.push(text, 0);
    if (more !== '') {
      t.same(few.look(950), [], text);
      t.equal(few.dueAt, null, 'it waits for text');
      t.same(raws(few.push(more, 1_000)), [raw]);
    } else t.same(raws(few.look(950)), [raw]);
  }
  const link = stream();
  link.push('Please do see [this, that and the other page', 0);
  t.same(
    link.look(1_000).map(({ raw }) => raw),
    [],
    'not in brackets',
  );
});

t.test('the pieces are the text again, and what is not said is with a neighbour', async (t) => {
  const text = '🎉 Hello *there*.\n\n***\nOne 🎉. Two — «three». No. 5 is here. ... And ☃☃☃! Ende gut.';
  for (const size of [1, 2, 3, 7, 1_000]) {
    const one = stream((said) => said.replace(/Ende gut\.?/, ''));
    const found = [];
    const points = Array.from(text);
    for (let at = 0; at < points.length; at += size) found.push(...one.push(points.slice(at, at + size).join(''), 0));
    found.push(...one.end());
    t.equal(`${raws(found).join('')}Ende gut.`, text);
    t.ok(found.every(({ spokenText }) => /\w/.test(spokenText)));
    for (const { from, raw } of found) t.equal(points.slice(from, from + Array.from(raw).length).join(''), raw);
  }
  const silent = stream();
  t.same([...silent.push('... 🎉', 0), ...silent.look(10_000), ...silent.end()], []);
});

t.test('a block of code is announced at once, and its code belongs to the sentence behind it', async (t) => {
  const text = 'Like this:\n\n```js\nlet a = 1; // One. Two.\nb();\n```\n\nThat was all. Good.';
  for (const size of [1, 2, 3, 7, 1_000]) {
    const one = stream();
    const found = [];
    for (let at = 0; at < text.length; at += size)
      found.push(...one.push(text.slice(at, at + size), at), ...one.look(at + 1_000));
    found.push(...one.end());
    t.same(
      found.map(({ spokenText }) => spokenText),
      ['Like this:', 'A code block follows.', 'That was all.', 'Good.'],
      `${size} characters at a time`,
    );
    t.equal(raws(found).join(''), text);
    const behind = found[2]!;
    t.equal(behind.raw.slice(behind.silent).trim(), 'That was all.');
  }
  const open = stream();
  open.push('```\nOne. ', 0);
  t.same(open.look(10_000), [], 'in a block nothing is said, however long it lasts');
  t.equal(open.dueAt, null);
  open.end();
  t.same(
    raws([...open.push('Two.', 20_000), ...open.end()]),
    ['One. Two.'],
    'a block that nothing closes ends where the text rests',
  );
});

t.test('a block of code is announced in the language of the text before it', async (t) => {
  const texts: readonly (readonly [before: string, announcement: string])[] = [
    ['Here is how you can do it:', 'A code block follows.'],
    ['So geht es, und das ist nicht schwer:', 'Es folgt ein Codeblock.'],
    ['Voici une fonction pour vous:', 'Un bloc de code suit.'],
    ['Aquí tiene el ejemplo para los pedidos:', 'Sigue un bloque de código.'],
    ['Ecco il codice che si può usare:', 'Segue un blocco di codice.'],
    ['Aqui está um exemplo para você:', 'Segue um bloco de código.'],
    ['Dit is het voorbeeld voor je:', 'Er volgt een codeblok.'],
    ['Oto jak to się robi:', 'Dalej jest blok kodu.'],
    ['Bu örnek bir sipariş için:', 'Bir kod bloğu geliyor.'],
    ['Вот пример:', 'Далее следует блок кода.'],
    ['Ось приклад для вашої заявки:', 'Далі йде блок коду.'],
    ['次の例を見てください:', 'コードが続きます。'],
    ['请看例子:', '下面是一段代码。'],
    ['예제입니다:', '다음은 코드 블록입니다.'],
    ['OK:', 'A code block follows.'],
  ];
  for (const [before, announcement] of texts) {
    const one = stream();
    const found = [
      ...one.push(`${before}\n\n\`\`\`\nthe and is are this that with for you\n\`\`\`\n`, 0),
      ...one.end(),
    ];
    t.equal(found.at(-1)!.spokenText, announcement, before);
  }
  const latin = stream((spokenText) => spokenText.replace(/[^ -~]/g, ''));
  const found = [...latin.push('Вот API:\n```\na\n```\n', 0), ...latin.end()];
  t.equal(found.at(-1)!.spokenText, 'A code block follows.', 'in English where the voice cannot say the other');
});

t.test('an address is whole when something follows it', async (t) => {
  const one = stream();
  one.push('See https://example.com/a?', 0);
  t.equal(one.dueAt, 400, 'the first piece alone is due');
  t.same(one.look(10_000), []);
  t.same(
    [...one.push('b=1. Bye', 20_000)].map(({ spokenText }) => spokenText),
    ['See example.com.'],
  );
});

t.test('ten thousand pieces of text in which nothing is said belong to the sentence after them', async (t) => {
  const one = stream();
  for (let piece = 0; piece < 10_000; piece++) one.push('. '.repeat(10), piece);
  t.same(one.push(' Hello', 200_000), []);
  t.equal(one.end().length, 1);
});

t.test('a long text is cut a part at a time, each at a look that is due at once', async (t) => {
  const text = 'This is a sentence. '.repeat(1_000);
  const one = stream();
  const found = one.push(text, 0);
  t.ok(found.length > 0 && found.length < 1_000, 'the first part');
  for (let now = 1; one.dueAt !== null && one.dueAt < now; now++) found.push(...one.look(now));
  t.equal(found.length, 999, 'all but the last, behind which no other one has begun');
  t.same(raws(one.end()), ['This is a sentence. ']);
  const ended = stream();
  const all = [...ended.push(text, 0), ...ended.end()];
  t.ok(ended.isBehind);
  for (let now = 1; ended.isBehind; now++) all.push(...ended.look(now));
  t.equal(raws(all).join(''), text);
  t.equal(ended.dueAt, null);
});
