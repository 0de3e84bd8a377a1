/** Events whose text is cut out without parsing: the same text as with parsing. */
import fc from 'fast-check';
import t from 'tap';
import { templateOf, textBy } from '../../../src/providers/model/template.ts';

/** A dialect for tests: the text of an event, null for another event. */
const said = (data: string): string | null => {
  const { choices, usage } = JSON.parse(data) as { choices?: { delta?: { content?: unknown } }[]; usage?: unknown };
  const content = choices?.[0]?.delta?.content;
  return usage !== undefined || typeof content !== 'string' ? null : content;
};
const event = (content: string, more: object = {}): string =>
  JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { content } }], ...more });

t.test('an event that differs in its text alone is skipped', async (t) => {
  const template = templateOf(event('Hello'), 'Hello', said)!;
  for (const text of ['', ' there', 'é 😀', 'a'.repeat(10_000), 'Hello']) t.equal(textBy(template, event(text)), text);
  for (const text of ['a "quote"', 'a\nline', 'back\\slash', '\u0001'])
    t.equal(textBy(template, event(text)), null, 'what is escaped is read');
  t.equal(textBy(template, event('x', { usage: {} })), null);
  t.equal(textBy(template, event('x', { id: 'd' })), null);
  t.equal(textBy(template, template.before.slice(0, -1) + template.after), null, 'before and after share no character');
});

t.test('an event without certain text characters has no template', async (t) => {
  t.equal(templateOf(event('c'), 'c', said), null, 'the same value elsewhere');
  t.equal(templateOf(event('index'), 'index', said), null, 'the same as a name');
  t.equal(templateOf(event('a\n'), 'a\n', said), null, 'escaped');
  const elsewhere = '{"note":"Hello","choices":[{"delta":{"content":"\\u0048ello"}}]}';
  t.equal(said(elsewhere), 'Hello');
  t.equal(templateOf(elsewhere, 'Hello', said), null, 'the same value elsewhere, and the text escaped');
  const named = '{"Hello":1,"choices":[{"delta":{"content":"\\u0048ello"}}]}';
  t.equal(templateOf(named, 'Hello', said), null);
});

t.test('whatever the events are, it says what reading them says', async (t) => {
  const text = fc.oneof(
    fc.constantFrom('', 'a', 'id', 'c', 'content', '"', '\\', ' a', '}', 'a\ue000'),
    fc.string({ unit: 'grapheme', maxLength: 6 }),
  );
  const more = fc.dictionary(fc.constantFrom('id', 'usage', 'a', 'x'), fc.oneof(text, fc.record({ content: text })), {
    maxKeys: 2,
  });
  const written = fc
    .record({ content: text, more, early: fc.boolean(), escaped: fc.boolean(), spaced: fc.boolean() })
    .map(({ content, more, early, escaped, spaced }) => {
      const choices = [{ delta: { content } }];
      const plain = JSON.stringify(early ? { choices, ...more } : { ...more, choices }, null, spaced ? 1 : 0);
      return escaped
        ? plain.replace(
            /"content":( ?)"([a-z])/,
            (_, space: string, letter: string) => `"content":${space}"\\u00${letter.charCodeAt(0).toString(16)}`,
          )
        : plain;
    });
  let hits = 0;
  fc.assert(
    fc.property(fc.array(written, { minLength: 2, maxLength: 6, size: 'max' }), text, (events, other) => {
      const first = events[0]!;
      const firstText = said(first);
      const template = firstText === null ? null : templateOf(first, firstText, said);
      if (template === null) return;
      const alike = template.before + JSON.stringify(other).slice(1, -1) + template.after;
      for (const data of [...events, alike, template.before + other + template.after]) {
        const read = textBy(template, data);
        if (read === null) continue;
        hits++;
        if (said(data) !== read) throw new Error(`${data}: ${read}`);
      }
    }),
    { numRuns: 5000 },
  );
  t.ok(hits > 5000, 'and most are not read');
});
