/** The bounded check of arguments against their schema. */
import t from 'tap';
import { limits } from '../../../src/base/limits.ts';
import { mayFit } from '../../../src/providers/tool/schema-check.ts';
import { checkArguments } from '../../../src/providers/tool/arguments.ts';
import { isSchema } from '../../../src/providers/tool/schema.ts';

const list = { type: 'object', properties: { of: { type: 'array', items: { $ref: '#' } } } };

/** A schema, what fits it, and what does not. */
const cases: Readonly<Record<string, readonly [schema: unknown, fits: readonly unknown[], not: readonly unknown[]]>> = {
  'a type': [{ type: 'string' }, ['', 'a'], [1, null, [], {}, true]],
  'several types': [{ type: ['integer', 'null'] }, [1, -2, 1.0, null], [1.5, '1', {}]],
  'any of the types': [{ type: ['number', 'boolean', 'object', 'array'] }, [1.5, false, {}, []], ['a', null]],
  'the schemas true and false': [{ properties: { a: true, b: false } }, [{ a: 1 }], [{ b: 1 }]],
  const: [{ const: { a: [1, { b: 2, c: 3 }] } }, [{ a: [1, { c: 3, b: 2 }] }], [{ a: [1, { b: 2 }] }, null]],
  enum: [{ enum: ['a', 1, null, { x: 1 }] }, ['a', 1, null, { x: 1 }], ['1', { x: 2 }, false]],
  'bounds of numbers': [{ minimum: 1, exclusiveMaximum: 2 }, [1, 1.9, 'a'], [0.9, 2]],
  'exclusive minimum, maximum': [{ exclusiveMinimum: 1, maximum: 2 }, [1.1, 2], [1, 2.1]],
  multiples: [{ multipleOf: 0.1 }, [0.3, 1, -0.7], [0.25]],
  'code points': [{ minLength: 2, maxLength: 3 }, ['ab', '😀😀😀'], ['😀', 'abcd']],
  'required and properties': [
    { required: ['a'], properties: { a: { type: 'string' } } },
    [{ a: '' }, { a: 'b', c: 1 }, 'no object'],
    [{}, { a: 1 }],
  ],
  'a name of every object': [{ required: ['toString'] }, [{ toString: 1 }], [{}]],
  'no other properties': [{ properties: { a: {} }, additionalProperties: false }, [{ a: 1 }, {}], [{ b: 1 }]],
  'other properties': [{ additionalProperties: { type: 'number' } }, [{ a: 1 }], [{ a: 'b' }]],
  'their names and number': [
    { propertyNames: { maxLength: 1 }, minProperties: 1, maxProperties: 2 },
    [{ a: 1 }],
    [{ ab: 1 }, {}, { a: 1, b: 1, c: 1 }],
  ],
  'what one property needs': [
    { dependentRequired: { a: ['b'] }, dependentSchemas: { c: { required: ['d'] } } },
    [{ a: 1, b: 1 }, { b: 1 }, { c: 1, d: 1 }],
    [{ a: 1 }, { c: 1 }],
  ],
  'the same before 2019': [
    { dependencies: { a: ['b'], c: { required: ['d'] } } },
    [{ a: 1, b: 1 }],
    [{ a: 1 }, { c: 1 }],
  ],
  items: [{ items: { type: 'number' }, minItems: 1, maxItems: 2 }, [[1], [1, 2]], [[], [1, 2, 3], ['a']]],
  'first items': [{ prefixItems: [{ type: 'number' }], items: { type: 'string' } }, [[1, 'a'], []], [['a'], [1, 2]]],
  'the same before 2020': [{ items: [{ type: 'number' }], additionalItems: false }, [[1]], [['a'], [1, 2]]],
  'items of their own': [
    { uniqueItems: true },
    [[1, '1', { a: 1 }, { a: 2 }]],
    [
      [1, 1],
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
    ],
  ],
  contains: [{ contains: { type: 'number' }, minContains: 2, maxContains: 3 }, [[1, 'a', 2]], [[1], [1, 2, 3, 4]]],
  'none or some': [{ contains: { type: 'number' } }, [['a', 1]], [['a']]],
  allOf: [{ allOf: [{ type: 'number' }, { minimum: 1 }] }, [1], [0, 'a']],
  anyOf: [{ anyOf: [{ type: 'number' }, { type: 'string' }] }, [1, 'a'], [null]],
  oneOf: [{ oneOf: [{ minimum: 1 }, { maximum: 1 }] }, [0, 2], [1]],
  not: [{ not: { type: 'string' } }, [1], ['a']],
  'if, then, else': [
    { if: { required: ['a'] }, then: { required: ['b'] }, else: { required: ['c'] } },
    [{ a: 1, b: 1 }, { c: 1 }],
    [{ a: 1 }, {}],
  ],
  'a reference': [
    { $defs: { 'a/b': { type: 'number' } }, properties: { a: { $ref: '#/$defs/a~1b' } } },
    [{ a: 1 }],
    [{ a: 'b' }],
  ],
  'an anchor': [
    { $defs: { x: { $anchor: 'here', type: 'number' } }, properties: { a: { $ref: '#here' } } },
    [{ a: 1 }],
    [{ a: 'b' }],
  ],
  'a reference to itself': [list, [{ of: [{ of: [] }] }], [{ of: [{ of: [1] }] }]],
  'a reference with neighbours': [
    { $defs: { a: { minimum: 1 } }, properties: { a: { $ref: '#/$defs/a', maximum: 2 } } },
    [{ a: 1 }],
    [{ a: 0 }, { a: 3 }],
  ],
  'a plain pattern': [
    { pattern: '^ORD-\\d{4,6}[a-z]?$' },
    ['ORD-1234', 'ORD-123456z'],
    ['ORD-1', ' ORD-1234', 'ORD-1234Z'],
  ],
  'a beginning': [{ pattern: '^[^0-9]+' }, ['abc1'], ['1abc', '']],
};

for (const [name, [schema, fits, not]] of Object.entries(cases)) {
  t.test(name, async (t) => {
    for (const value of fits) t.equal(mayFit(schema as object as never, value), true, JSON.stringify(value));
    for (const value of not) t.equal(mayFit(schema as object as never, value), false, JSON.stringify(value));
  });
}

t.test('what is not looked at counts as fitting, and so does its reverse', async (t) => {
  const unseen = [
    { pattern: '(a|b)' },
    { pattern: 'b$' },
    { format: 'email' },
    { patternProperties: { '^b': { type: 'number' } }, additionalProperties: false },
    { $ref: '#/nothing' },
    { $dynamicRef: '#x' },
    { unevaluatedProperties: false },
  ];
  for (const schema of unseen) {
    const value = 'patternProperties' in schema || 'unevaluatedProperties' in schema ? { a: 'x' } : 'a';
    t.equal(mayFit(schema, value), true, JSON.stringify(schema));
    if (!('format' in schema)) t.equal(mayFit({ not: schema }, value), true, `not ${JSON.stringify(schema)}`);
    t.equal(mayFit({ allOf: [schema, { type: 'null' }] }, value), false, 'what is looked at beside it decides');
    t.equal(mayFit({ anyOf: [schema, { type: 'null' }] }, value), true);
    t.equal(mayFit({ if: schema, then: false, else: false }, value), false);
  }
  t.equal(mayFit({ oneOf: [{ pattern: 'b' }, { type: 'string' }] }, 'a'), true);
  t.equal(mayFit({ contains: { pattern: 'b' } }, ['a']), true);
});

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const nestedKeyword = (keyword: string) => ({
  type: 'object',
  [keyword]: [{ $ref: '#/$defs/d0' }],
  $defs: Object.fromEntries(
    many(150, (index) => [
      `d${index}`,
      index === 149
        ? { type: 'null' }
        : { [keyword]: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }] },
    ]),
  ),
});
const ofA = (schema: object) => ({ type: 'object', properties: { a: schema } });
const nested = (depth: number): string => `${'{"a":'.repeat(depth)}{}${'}'.repeat(depth)}`;

/** Schemas of up to 16 KiB, and arguments of up to 32 KiB, that cost a validator most. */
const hostile: Readonly<Record<string, readonly [schema: Record<string, unknown>, given: object | string]>> = {
  'a pattern that backtracks': [ofA({ pattern: '^(a+)+$' }), { a: `${'a'.repeat(28)}!` }],
  'a pattern of many characters': [ofA({ pattern: 'a*b' }), { a: 'a'.repeat(32_000) }],
  'a pattern that is dear to compile': [
    ofA({ pattern: '(?:\\p{L}|\\p{N}){1,1000}'.repeat(600) }),
    { a: 'a'.repeat(32_000) },
  ],
  'plain patterns': [ofA({ allOf: many(300, () => ({ pattern: '^[a-z]*[a-z]*[0-9]{9}$' })) }), { a: 'a'.repeat(256) }],
  'plain patterns of many texts': [
    ofA({ items: { pattern: '^[a-z]+[a-z]+.$' } }),
    { a: many(120, () => 'a'.repeat(256)) },
  ],
  'a class like the expression that knows plain ones': [
    ofA({ pattern: `^${'[^a]'.repeat(31)}(`.slice(0, 127) }),
    { a: 'b' },
  ],
  'patterns of names': [
    { type: 'object', patternProperties: Object.fromEntries(many(700, (index) => [`^x*${index}$`, {}])) },
    Object.fromEntries(many(3000, (index) => [`k${index}`, 1])),
  ],
  'unique numbers': [ofA({ uniqueItems: true }), { a: many(6000, (index) => index) }],
  'unique objects': [ofA({ uniqueItems: true }), { a: many(3000, (index) => ({ a: index })) }],
  'anyOf without end': [nestedKeyword('anyOf'), {}],
  'allOf without end': [nestedKeyword('allOf'), {}],
  'oneOf without end': [nestedKeyword('oneOf'), {}],
  itself: [{ type: 'object', $ref: '#' }, {}],
  'itself twice': [{ type: 'object', anyOf: [{ $ref: '#' }, { $ref: '#' }] }, {}],
  'deep arguments': [{ type: 'object', properties: { a: { $ref: '#' } } }, nested(99)],
  'arguments that are too deep': [{ type: 'object', properties: { a: { $ref: '#' } } }, nested(5000)],
  'a large enum': [ofA({ items: { enum: many(3500, (index) => index) } }), { a: many(14_000, () => 9) }],
  'a large enum of objects': [
    ofA({ items: { enum: many(1500, (index) => ({ a: index })) } }),
    { a: many(3500, () => ({ a: -1 })) },
  ],
  'one object against many': [ofA({ enum: many(20, (index) => many(250, () => index)) }), { a: many(16_000, () => 1) }],
  'contains within contains': [
    ofA({ contains: { contains: { enum: many(3000, (index) => index) } } }),
    { a: many(100, () => many(100, () => -1)) },
  ],
  'many properties for many schemas': [
    { type: 'object', allOf: many(400, () => ({ properties: { a: true } })), unevaluatedProperties: false },
    Object.fromEntries(many(3000, (index) => [`k${index}`, 1])),
  ],
  'many small items': [ofA({ items: { anyOf: many(1000, () => ({ const: 1 })) } }), { a: many(14_000, () => 2) }],
  'references by anchor': [
    { type: 'object', properties: { a: { items: { anyOf: many(300, (index) => ({ $ref: `#n${index}` })) } } } },
    { a: many(14_000, () => 2) },
  ],
  'long references': [ofA({ items: { $ref: `#${'/properties/a'.repeat(600)}` } }), { a: many(14_000, () => 2) }],
  'names for names': [
    {
      type: 'object',
      required: many(1100, (index) => `k${index}`),
      dependentRequired: { k0: many(700, (index) => `k${index}`) },
    },
    Object.fromEntries(many(2500, (index) => [`k${index}`, 1])),
  ],
  'lengths of texts': [ofA({ allOf: many(700, () => ({ maxLength: 99_999 })) }), { a: '😀'.repeat(7000) }],
};

t.test('the dearest schemas are bounded', async (t) => {
  for (const [name, [schema, given]] of Object.entries(hostile)) {
    t.ok(
      JSON.stringify(schema).length <= limits.toolSchemaBytesMax + 512 &&
        isSchema({ ...schema, type: 'object' }) !== null,
      `${name}: small enough`,
    );
    const text = typeof given === 'string' ? given : JSON.stringify(given);
    t.ok(Buffer.byteLength(text) <= limits.toolArgumentsBytesMax, `${name}: arguments small enough`);
    const times = many(3, () => {
      const at = performance.now();
      checkArguments(schema, text);
      return performance.now() - at;
    });
    t.comment(`${name}: ${Math.min(...times).toFixed(1)} ms`);
  }
  t.equal(checkArguments({ type: 'object' }, nested(100)), null, 'arguments that are nested too deeply are none');
  t.ok(
    checkArguments(
      { type: 'object' },
      `{"a":${nested(98)},"b":"${'['.repeat(500)}","c":${'[],'.repeat(500).replace(/^/, '[').replace(/,$/, ']')}}`,
    ),
  );
  t.equal(
    isSchema({ type: 'object', const: JSON.parse(nested(7000)) }),
    false,
    'a schema that no text can be made of is none',
  );
  t.equal(
    checkArguments(
      ofA({ type: 'array', items: { type: 'number' } }),
      JSON.stringify({ a: [...many(10_000, () => 2), 'x'] }),
    ),
    null,
    'what is plain is looked at to its end',
  );
});
