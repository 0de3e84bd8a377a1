/** The schemas that MCP servers list: kept, without what cannot be checked (contract 13). */
import t from 'tap';
import { checkArguments } from '../../../src/providers/tool/arguments.ts';
import { listedSchema } from '../../../src/providers/tool/listed-schema.ts';

const text = { type: 'string' };

/** A schema of a server, and what is kept of it; null where the tool is refused. */
const rows: Readonly<Record<string, readonly [given: unknown, kept: object | null]>> = {
  'a whole one': [
    { type: 'object', properties: { a: text }, required: ['a'], additionalProperties: false },
    { type: 'object', properties: { a: text }, required: ['a'], additionalProperties: false },
  ],
  'no type': [{ properties: { a: text } }, { properties: { a: text }, type: 'object' }],
  'null as the type': [
    { type: null, properties: {} },
    { type: 'object', properties: {} },
  ],
  'an object or null': [{ type: ['object', 'null'] }, { type: 'object' }],
  nothing: [{}, { type: 'object' }],
  'null as the required': [
    { type: 'object', properties: { a: text }, required: null },
    { type: 'object', properties: { a: text } },
  ],
  'required as draft 3 has it': [
    { type: 'object', properties: { a: { type: 'string', required: true } } },
    { type: 'object', properties: { a: text } },
  ],
  'a required that is no text': [
    { type: 'object', required: ['a', null, 5] },
    { type: 'object', required: ['a'] },
  ],
  'null as the properties': [{ type: 'object', properties: null }, { type: 'object' }],
  'null as a property': [
    { type: 'object', properties: { a: null, b: text } },
    { type: 'object', properties: { a: {}, b: text } },
  ],
  'a pattern that `u` refuses': [
    { type: 'object', properties: { a: { type: 'string', pattern: '^[\\w-.]+\\-$' } } },
    { type: 'object', properties: { a: text } },
  ],
  'a pattern of another dialect': [
    { type: 'object', properties: { a: { type: 'string', pattern: '(?i)^a\\Z' } } },
    { type: 'object', properties: { a: text } },
  ],
  'a pattern that is none': [
    { type: 'object', properties: { a: { type: 'string', pattern: null } } },
    { type: 'object', properties: { a: text } },
  ],
  'a pattern of properties that is none': [
    { type: 'object', patternProperties: { '(': text, '^a': text } },
    { type: 'object', patternProperties: { '^a': text } },
  ],
  'a type that is not known': [
    { type: 'object', properties: { a: { type: 'any' }, b: { type: ['string', 'file'] } } },
    { type: 'object', properties: { a: {}, b: { type: ['string'] } } },
  ],
  'null as an enum, and texts as bounds': [
    { type: 'object', properties: { a: { enum: null, minimum: '1', maximum: 5, exclusiveMinimum: true } } },
    { type: 'object', properties: { a: { maximum: 5 } } },
  ],
  'null as items and description': [
    { type: 'object', description: null, properties: { a: { type: 'array', items: null } } },
    { type: 'object', properties: { a: { type: 'array' } } },
  ],
  'empty lists of schemas': [{ type: 'object', anyOf: [], allOf: null, oneOf: {} }, { type: 'object' }],
  'nulls within a list of schemas': [
    { type: 'object', properties: { a: { anyOf: [text, null] } } },
    { type: 'object', properties: { a: { anyOf: [text, {}] } } },
  ],
  'notes of its own': [
    {
      type: 'object',
      'x-order': ['a'],
      'x-note': 'b',
      deprecated: true,
      default: { pattern: '(' },
      examples: [{ required: null }],
    },
    { type: 'object', 'x-note': 'b', deprecated: true, default: { pattern: '(' }, examples: [{ required: null }] },
  ],
  'a property called as a keyword': [
    { type: 'object', properties: { pattern: text, required: text, type: text, $ref: text } },
    { type: 'object', properties: { pattern: text, required: text, type: text, $ref: text } },
  ],
  'a property called __proto__': [
    JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}'),
    JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}'),
  ],
  'a reference within itself': [
    { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: text } },
    { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: text } },
  ],
  'dependent properties': [
    { type: 'object', dependentRequired: { a: ['b'], c: null } },
    { type: 'object', dependentRequired: { a: ['b'], c: [] } },
  ],
  'a reference to elsewhere': [{ type: 'object', properties: { a: { $ref: 'https://example.com/a' } } }, null],
  'a reference that is none': [{ type: 'object', properties: { a: { $ref: 5 } } }, null],
  'another type': [{ type: 'string' }, null],
  'a list of other types': [{ type: ['array', 'null'] }, null],
  null: [null, null],
  'a list': [[], null],
  'a boolean': [true, null],
  '63 KiB': [
    { type: 'object', description: 'x'.repeat(63 * 1024) },
    { type: 'object', description: 'x'.repeat(63 * 1024) },
  ],
  'over 64 KiB': [{ type: 'object', description: 'x'.repeat(64 * 1024) }, null],
  'nested too deeply': [JSON.parse(`${'{"properties":{"a":'.repeat(100)}{}${'}}'.repeat(100)}`), null],
  'nested without end': [JSON.parse(`{"default":${'['.repeat(100_000)}${']'.repeat(100_000)}}`), null],
};

t.test('what can be checked of a schema is kept, and stays as it is when it is read again', async (t) => {
  for (const [name, [given, kept]] of Object.entries(rows)) {
    const found = listedSchema(given);
    t.strictSame(found, kept, name);
    if (found !== null) t.strictSame(listedSchema(found), found, `${name}, again`);
  }
});

t.test('arguments are held to what is kept', async (t) => {
  const schema = listedSchema({
    properties: { a: { type: 'string', pattern: '(?i)^a' }, b: { type: 'integer' } },
    required: null,
  })!;
  t.same(checkArguments(schema, '{"a":"b"}'), { a: 'b' });
  t.equal(checkArguments(schema, '{"b":"x"}'), null);
});
