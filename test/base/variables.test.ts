/** Variables in prompts and greetings (contract 19). */
import fc from 'fast-check';
import t from 'tap';
import { fillTemplate, isTemplate, literalTemplate, parseTemplate, timeFact } from '../../src/base/variables.ts';

const fields = [
  { name: 'name', required: true },
  { name: 'nick', required: false },
];

const values: Readonly<Record<string, string>> = {
  'visitor.name': 'Ada',
  'visitor.__proto__': 'safe',
  'visitor.a b': 'spaced',
  'metadata.plan': 'gold',
  'metadata.x.y': 'dotted',
  channel: 'api',
  date: '2026-11-28',
  time: '14:05',
  weekday: 'Saturday',
  'assistant.name': 'Support',
  'session.id': 'ses_1',
};

const fill = (text: string, more: Readonly<Record<string, string>> = {}): string =>
  fillTemplate(text, ({ of, name }) => ({ ...values, ...more })[of === 'facts' ? name : `${of}.${name}`]);

const filled: Readonly<Record<string, string>> = {
  '': '',
  'no variables { } }} {': 'no variables { } }} {',
  '{{visitor.name}}': 'Ada',
  'Hello {{ visitor.name }}!': 'Hello Ada!',
  '{{\n\tvisitor.name\u00a0|\n there }}': 'Ada',
  '{{visitor.nick|there}}': 'there',
  '{{visitor.nick|  dear  guest }}': 'dear  guest',
  '{{metadata.plan|}}': 'gold',
  '[{{metadata.other|}}]': '[]',
  '{{metadata.x.y|}}': 'dotted',
  '{{visitor.a b|}}': 'spaced',
  '{{visitor.__proto__|}}': 'safe',
  '{{visitor.toString|none}}': 'none',
  '{{metadata.plan|a|b}}': 'gold',
  '{{metadata.other|a|b}}': 'a|b',
  '{{metadata.other|{x}}}': '{x}',
  '{{channel}} {{date}} {{time}} {{weekday}} {{assistant.name}} {{session.id}}':
    'api 2026-11-28 14:05 Saturday Support ses_1',
  '{{date|some day}}': '2026-11-28',
  '\\{{visitor.name}}': '{{visitor.name}}',
  '\\{{{{date}}': '{{2026-11-28',
  '{{date}}\\{{': '2026-11-28{{',
  '\\\\{{x}}': '\\{{x}}',
  '\\{{\\{{': '{{{{',
  '\\ {{date}}': '\\ 2026-11-28',
  '{{date}}{{time}}': '2026-11-2814:05',
  '{ {{date}}}': '{ 2026-11-28}',
};

for (const [text, expected] of Object.entries(filled))
  t.test(`${JSON.stringify(text)} is filled as ${JSON.stringify(expected)}`, async (t) => {
    t.ok(isTemplate(text, fields));
    t.equal(fill(text), expected);
  });

const wrong = [
  ...['{{', '{{date', '{{date}', 'a {{date} } b', '{{date}}{{', '\\{{ {{', '{{visitor.name|{{date}}'],
  ...[
    '{{}}',
    '{{ }}',
    '{{|x}}',
    '{{Date}}',
    '{{dates}}',
    '{{visitor}}',
    '{{visitor.}}',
    '{{visitor.|x}}',
    '{{metadata.|}}',
  ],
  ...['{{name}}', '{{session}}', '{{session.visitor}}', '{{assistant.prompt|}}', '{{model.name}}', '{{constructor}}'],
  ...['{{{date}}}', '{{ {date}}', '{{\\{{date}}}}', '{{metadata.x|\\{{}}'],
];
for (const text of wrong)
  t.test(`${JSON.stringify(text)} is no template`, async (t) => {
    t.notOk(isTemplate(text, fields));
    t.equal(fill(text), text, 'a text that is stored all the same is literal');
  });

t.test('a variable without a value in some session is no template', async (t) => {
  for (const text of [
    '{{metadata.plan}}',
    '{{visitor.nick}}',
    '{{visitor.other}}',
    'x {{visitor.name}} {{visitor.nick}}',
  ])
    t.notOk(isTemplate(text, fields), text);
  t.ok(isTemplate('{{visitor.name}}', fields));
  t.notOk(isTemplate('{{visitor.name}}', []));
  t.ok(isTemplate(null, []));
});

t.test('a value is one line of at most 512 code points, and is not scanned again', async (t) => {
  const value = (text: string) => fill('<{{metadata.plan|}}>', { 'metadata.plan': text });
  t.equal(value('a\r\nb\tc\0d\u0085e\u2028f\u2029g\u007fh'), '<a  b c d e f g h>');
  t.equal(value('{{date}} \\{{ {{'), '<{{date}} \\{{ {{>');
  t.equal(value('$& $1 $`'), '<$& $1 $`>');
  t.equal(value('😀'.repeat(600)), `<${'😀'.repeat(512)}>`);
  t.equal(value(''), '<>');
  t.equal(fill('<{{metadata.plan|free}}>', { 'metadata.plan': '' }), '<free>');
});

t.test('variables of time are in UTC', async (t) => {
  const at = Date.UTC(2026, 10, 28, 14, 5, 59) / 1000;
  t.same(
    (['date', 'time', 'weekday'] as const).map((fact) => timeFact(fact, at)),
    ['2026-11-28', '14:05', 'Saturday'],
  );
});

const pieces = fc
  .array(fc.oneof(fc.constantFrom('{', '}', '{{', '}}', '\\', '|', ' ', 'date', 'visitor.', 'x', '\n'), fc.string()), {
    maxLength: 30,
  })
  .map((parts) => parts.join(''));

t.test('a literal template gives back any text', async () => {
  fc.assert(
    fc.property(pieces, (text) => {
      const template = literalTemplate(text);
      return isTemplate(template, []) && fill(template) === text && (text.includes('{{') || template === text);
    }),
    { numRuns: 2000 },
  );
});

t.test('a text is filled with its literal parts and values, or stays as it is', async () => {
  fc.assert(
    fc.property(pieces, fc.string(), (text, value) => {
      const parts = parseTemplate(text);
      const result = fillTemplate(text, () => value);
      if (parts === null) return result === text;
      const literals = parts.filter((part) => typeof part === 'string');
      return (
        literals.every((literal) => result.includes(literal)) &&
        (literals.length < parts.length || result === literals.join(''))
      );
    }),
    { numRuns: 2000 },
  );
});
