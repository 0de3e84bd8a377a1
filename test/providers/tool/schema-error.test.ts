/** Errors that explain to their author why arguments do not match. */
import t from 'tap';
import { limits } from '../../../src/base/limits.ts';
import { parsedArgumentsError } from '../../../src/providers/tool/arguments.ts';
import { schemaError } from '../../../src/providers/tool/schema-error.ts';

const order = {
  type: 'object',
  $defs: { code: { type: 'string', minLength: 3 } },
  properties: {
    order: { type: 'string' },
    count: { type: ['integer', 'null'], minimum: 1 },
    size: { enum: ['s', 'm'] },
    parts: {
      type: 'array',
      items: { type: 'object', required: ['code'], properties: { code: { $ref: '#/$defs/code' } } },
    },
    pair: { prefixItems: [{ type: 'string' }], items: { type: 'number' } },
    both: { allOf: [{ type: 'object' }, { properties: { a: { const: 1 } } }] },
    none: false,
    either: { anyOf: [{ type: 'string' }, { type: 'number' }] },
  },
  required: ['order'],
  additionalProperties: false,
};

/** Arguments beside an order that fits, and the sentence. */
const sentences: readonly (readonly [given: Readonly<Record<string, unknown>>, sentence: string | null])[] = [
  [{}, null],
  [{ order: 7 }, '`order` must be a string.'],
  [{ order: undefined }, '`order` is missing.'],
  [{ count: 1.5 }, '`count` must be an integer or a null.'],
  [{ count: 0 }, '`count` does not fit `minimum`: 1.'],
  [{ size: 'l' }, '`size` does not fit `enum`: ["s","m"].'],
  [{ parts: {} }, '`parts` must be an array.'],
  [{ parts: [{ code: 'abc' }, {}] }, '`parts[1].code` is missing.'],
  [{ parts: [{ code: 'ab' }] }, '`parts[0].code` does not fit `minLength`: 3.'],
  [{ pair: ['a', 'b'] }, '`pair[1]` must be a number.'],
  [{ pair: [1] }, '`pair[0]` must be a string.'],
  [{ both: { a: 2 } }, '`both.a` does not fit `const`: 1.'],
  [{ none: 1 }, '`none` must not be given.'],
  [{ other: 1 }, '`other` must not be given.'],
  [{ either: null }, '`either` does not fit `anyOf`: [{"type":"string"},{"type":"number"}].'],
];

for (const [given, sentence] of sentences) {
  t.test(`${JSON.stringify(given)}: ${sentence}`, async (t) =>
    t.equal(schemaError(order, JSON.parse(JSON.stringify({ order: '7', ...given }))), sentence),
  );
}

t.test('what is too much is told too, and a check without an end is not', async (t) => {
  let deep: Record<string, unknown> = {};
  for (let depth = 0; depth < 200; depth++) deep = { a: deep };
  t.match(parsedArgumentsError({ type: 'object' }, deep), /deep/);
  t.match(parsedArgumentsError({ type: 'object' }, { a: 'x'.repeat(limits.toolArgumentsBytesMax) }), /32 KiB/);
  t.match(
    parsedArgumentsError({ type: 'object', maxProperties: 0 }, { a: 1 }),
    'The whole does not fit `maxProperties`: 0.',
  );
  const many = {
    type: 'object',
    properties: { a: { items: { enum: Array.from({ length: 1000 }, (_, index) => index) } } },
  };
  t.equal(schemaError(many, { a: Array.from({ length: 10_000 }, () => -1) }), '`a[0]` does not fit `enum`.');
});
