/** Arguments that models write beside their schema and mean otherwise (contract 13). */
import t from 'tap';
import { checkArguments, argumentsError, toolSchemaErrorCharactersMax } from '../../../src/providers/tool/arguments.ts';
import { limits } from '../../../src/base/limits.ts';

const schema = {
  type: 'object',
  $defs: {
    size: { type: 'object', properties: { width: { type: 'number' }, unit: { type: 'string' } }, required: ['width'] },
  },
  properties: {
    order: { type: 'string' },
    count: { type: 'integer' },
    rate: { type: 'number' },
    express: { type: 'boolean' },
    tags: { type: 'array', items: { type: 'string' } },
    counts: { type: 'array', items: { type: 'integer' } },
    size: { $ref: '#/$defs/size' },
    maybe: { type: ['string', 'null'] },
    either: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
    maybeSize: { anyOf: [{ type: 'null' }, { $ref: '#/$defs/size' }] },
    choice: {
      oneOf: [
        { type: 'object', properties: { kind: { const: 'a' }, n: { type: 'integer' } }, required: ['kind'] },
        { type: 'object', properties: { kind: { const: 'b' }, n: { type: 'boolean' } }, required: ['kind'] },
      ],
    },
    prices: { type: 'object', additionalProperties: { type: 'number' } },
    textOrNumber: { type: ['string', 'number'] },
  },
  required: ['order'],
};

/** Arguments as a model writes them, and as the tool gets them; null if the call is not made. */
const rows: readonly (readonly [given: unknown, got: unknown])[] = [
  [{ order: '7', count: null }, { order: '7' }],
  [
    { order: '7', count: null, tags: null, size: null, rate: 2 },
    { order: '7', rate: 2 },
  ],
  [
    { order: '7', maybe: null },
    { order: '7', maybe: null },
  ],
  [
    { order: '7', size: { width: 2, unit: null } },
    { order: '7', size: { width: 2 } },
  ],
  [{ order: null }, null],
  [
    { order: '7', other: null },
    { order: '7', other: null },
  ],
  [
    { order: '7', count: '5' },
    { order: '7', count: 5 },
  ],
  [
    { order: '7', rate: '1.5' },
    { order: '7', rate: 1.5 },
  ],
  [
    { order: '7', express: 'true' },
    { order: '7', express: true },
  ],
  [
    { order: '7', tags: '["a","b"]' },
    { order: '7', tags: ['a', 'b'] },
  ],
  [
    { order: '7', counts: ['1', 2] },
    { order: '7', counts: [1, 2] },
  ],
  [
    { order: '7', counts: '["1", 2]' },
    { order: '7', counts: [1, 2] },
  ],
  [
    { order: '7', size: '{"width":2}' },
    { order: '7', size: { width: 2 } },
  ],
  [
    { order: '7', size: '{"width":"2","unit":null}' },
    { order: '7', size: { width: 2 } },
  ],
  [
    { order: '7', either: '5' },
    { order: '7', either: 5 },
  ],
  [
    { order: '7', maybeSize: { width: '2', unit: null } },
    { order: '7', maybeSize: { width: 2 } },
  ],
  [
    { order: '7', maybeSize: '{"width":2}' },
    { order: '7', maybeSize: { width: 2 } },
  ],
  [
    { order: '7', maybeSize: null },
    { order: '7', maybeSize: null },
  ],
  [
    { order: '7', choice: { kind: 'b', n: 'true' } },
    { order: '7', choice: { kind: 'b', n: true } },
  ],
  [
    { order: '7', prices: { a: '1.5', b: 2 } },
    { order: '7', prices: { a: 1.5, b: 2 } },
  ],
  [
    { order: '7', textOrNumber: '5' },
    { order: '7', textOrNumber: '5' },
  ],
  [{ order: '7', count: '"5"' }, null],
  [{ order: '7', count: 'five' }, null],
  [{ order: '7', count: '1.5' }, null],
  [{ order: '7', size: '{"unit":"cm"}' }, null],
  [{ order: 7 }, null],
];

for (const [given, got] of rows)
  t.test(`${JSON.stringify(given)} is ${got === null ? 'refused' : JSON.stringify(got)}`, async (t) =>
    t.strictSame(checkArguments(schema, JSON.stringify(given)), got),
  );

t.test('a text that is nested more deeply than arguments may be stays a text', async (t) => {
  t.equal(checkArguments(schema, JSON.stringify({ order: '7', tags: '['.repeat(5000) + ']'.repeat(5000) })), null);
});

t.test('a model is told the path and the reason, in a bounded sentence', async (t) => {
  const reasons: readonly (readonly [text: string, reason: RegExp])[] = [
    ['{}', /^`order` is missing\.$/],
    ['{"order":7}', /^`order` must be a string\.$/],
    ['{"order":"7","size":{"width":"wide"}}', /^`size\.width` must be a number\.$/],
    ['{"order"', /^They are not an object in JSON\.$/],
    ['[]', /^They are not an object in JSON\.$/],
    [`{"order":"${'x'.repeat(limits.toolArgumentsBytesMax)}"}`, /32 KiB/],
    [`{"order":${'['.repeat(200)}${']'.repeat(200)}}`, /nested/],
  ];
  for (const [text, reason] of reasons) t.match(argumentsError(schema, text), reason, text.slice(0, 60));
  const long = argumentsError(
    { type: 'object', additionalProperties: false },
    JSON.stringify({ ['n'.repeat(5000)]: 1 }),
  );
  t.equal([...long].length, toolSchemaErrorCharactersMax + 1);
});
