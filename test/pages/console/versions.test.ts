/** The versions of an assistant in the console's pages: differences in words, and edits of two people at once. */
import t from 'tap';
import { changedFields, isDirty, merged } from '../../../src/pages/console/parts/draft-merge.ts';
import { concerned, settingText } from '../../../src/pages/console/parts/setting-words.ts';
import { folded, sideOf, unified, wordChanges } from '../../../src/pages/console/parts/word-changes.ts';

const shown = (before: string, after: string): string =>
  unified(wordChanges(before, after))
    .map(({ kind, text }) => (kind === 'same' ? text : kind === 'removed' ? `[-${text}-]` : `[+${text}+]`))
    .join('');

t.test('texts are compared word by word', (t) => {
  t.equal(shown('', ''), '');
  t.equal(shown('Be kind.', 'Be kind.'), 'Be kind.');
  t.equal(shown('Be kind.', 'Be very kind.'), 'Be [+very +]kind.');
  t.equal(shown('within 14 days.', 'within 30 days.'), 'within [-14 -][+30 +]days.');
  t.equal(shown('Be kind.\nBe brief.', 'Be kind.\n\nBe brief.'), 'Be kind.\n[+\n+]Be brief.', 'a line break is a word');
  t.equal(shown('one  two', 'one two'), '[-one  -][+one +]two', 'white space alone is a difference too');
  t.equal(shown('退款需要十四天', '退款需要三十天'), '退款需要[-十四-][+三十+]天', 'without spaces between words');
  t.equal(shown('a', ''), '[-a-]');
  t.equal(shown('Look an order up.', 'Look an order.'), 'Look an order [-up-].');
  t.end();
});

t.test('both texts can be read back from the differences', (t) => {
  const words = ['refund', 'order', 'the', 'a', '.', '\n', '  ', 'days', '14', '{{visitor.name|you}}'];
  let seed = 7;
  const text = (): string =>
    Array.from({ length: 60 }, () => words[(seed = (seed * 48_271) % 2_147_483_647) % words.length]).join(' ');
  for (let times = 0; times < 50; times++) {
    const [before, after] = [text(), text()];
    const parts = wordChanges(before, after);
    const read = (side: 'before' | 'after'): string =>
      sideOf(parts, side)
        .map((part) => part.text)
        .join('');
    t.same([read('before'), read('after')], [before, after]);
  }
  t.end();
});

t.test('texts of the largest size that have nothing in common are compared in bounded time', (t) => {
  const text = (word: string): string => Array.from({ length: 8000 }, (_, index) => `${word}${index}`).join(' ');
  const begun = process.cpuUsage();
  t.same(
    wordChanges(text('a'), text('b')).map(({ kind }) => kind),
    ['removed', 'added'],
  );
  t.ok(process.cpuUsage(begun).user < 3e6, 'within 3 s of CPU time');
  t.end();
});

t.test('the middle of a long unchanged text is folded at line breaks', (t) => {
  const text = Array.from({ length: 60 }, (_, index) => `Line ${index} of the prompt.\n`).join('');
  for (const [isFirst, isLast] of [
    [true, false],
    [false, true],
    [false, false],
  ] as const) {
    const [begin, middle, end] = folded(text, isFirst, isLast)!;
    t.equal(begin + middle + end, text);
    t.same([begin === '', end === ''], [isFirst, isLast]);
    t.ok(middle.endsWith('\n') && middle.startsWith('Line'));
  }
  t.equal(folded('Short.', false, false), null);
  t.equal(folded('x'.repeat(5000), false, false), null, 'a text without lines is shown whole');
  t.end();
});

t.test('an edit moves onto settings that another person has changed', (t) => {
  const base = { name: 'one', greeting: 'Hello', tools: ['a'] };
  t.same(merged({ base, draft: base }, { ...base, greeting: 'Hi' }).draft, { ...base, greeting: 'Hi' });
  const edit = { base, draft: { ...base, name: 'mine', greeting: 'Mine' } };
  const theirs = { name: 'one', greeting: 'Theirs', tools: ['a', 'b'] };
  const after = merged(edit, theirs);
  t.same(after.draft, { name: 'mine', greeting: 'Mine', tools: ['a', 'b'] });
  t.same([after.base, after.taken, after.both], [theirs, ['tools'], ['greeting']]);
  t.ok(isDirty(after));
  t.same(merged(after, theirs).both, [], 'what was shown is shown once');
  t.same(merged(edit, { ...base, greeting: 'Mine' }).both, [], 'the same change of both is no conflict');
  t.notOk(isDirty(merged({ base, draft: { ...base, name: 'x' } }, { ...base, name: 'x' })));
  t.end();
});

t.test('only the fields that were changed are sent', (t) => {
  const before = { name: 'a', model: { name: 'm', system_prompt: 'p' }, link: null, ids: ['a'] };
  t.same(changedFields(before, before), {});
  t.same(
    changedFields(
      { name: 'a', model: { name: 'm', system_prompt: 'q' }, link: { slug: 's' }, ids: ['a', 'b'] },
      before,
    ),
    { model: { system_prompt: 'q' }, link: { slug: 's' }, ids: ['a', 'b'] },
  );
  t.end();
});

t.test('settings are named in words', (t) => {
  const tools = new Map([['tool_1', 'Orders']]);
  t.equal(settingText('max_call_seconds', 5400, tools), '1 h 30 min');
  t.equal(settingText('tool_ids', ['tool_1', 'tool_2'], tools), 'Orders\ntool_2');
  t.equal(settingText('greeting', '', tools), null);
  t.equal(settingText('repeatable', false, tools), 'no');
  t.equal(
    settingText('visitor_fields', [{ name: 'email', label: 'E-mail', type: 'email', required: true }], tools),
    'E-mail (email, email, required)',
  );
  t.equal(
    concerned(['greeting', 'tools.tool_1.url', 'tools.tool_1.functions', 'model.system_prompt']),
    'System prompt, Greeting, and 1 tool definition',
  );
  t.end();
});
