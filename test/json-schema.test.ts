/**
 * The reading of schemas that answers are held to finds what ajv finds, in what the documents state and in every small
 * change of it.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import t from 'tap';
import { asyncapiDocument } from '../src/http/reference/asyncapi.ts';
import { openapiDocument } from '../src/http/reference/openapi.ts';
import { documented } from '../src/http/routes.ts';
import { faultsOf, type Schema } from './json-schema.ts';

/** Values that differ from one in one place: another type, less, more, longer. */
function* changesOf(value: unknown): Generator<unknown> {
  yield* [null, true, -1, 0.5, 1e12, '', 'x'.repeat(70), '𝒳'.repeat(64), [], {}, [value], { one: value }];
  if (typeof value === 'string') yield* [`${value} `, value.slice(1), value.toUpperCase()];
  if (typeof value === 'number') yield* [value + 1, -value, value * 1e9];
  if (typeof value !== 'object' || value === null) return;
  const isArray = Array.isArray(value);
  for (const [name, inner] of Object.entries(value)) {
    const { [name]: _, ...rest } = value as Record<string, unknown>;
    yield isArray ? Object.values(rest) : rest;
    for (const changed of changesOf(inner))
      yield isArray ? Object.assign([...value], { [name]: changed }) : { ...value, [name]: changed };
  }
  yield isArray
    ? [...value, ...value]
    : { ...value, ...Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`more${index}`, 'x'])) };
}

interface Case {
  readonly name: string;
  readonly schema: Schema;
  readonly value: unknown;
}

/** The examples of requests and answers, each once: most operations refuse with the same errors. */
function casesOf(document: any): Case[] {
  const found = new Map<string, Case>();
  for (const [path, operations] of Object.entries<any>(document.paths)) {
    for (const [verb, { requestBody, responses }] of Object.entries<any>(operations)) {
      for (const { content = {} } of [requestBody ?? {}, ...Object.values<any>(responses)]) {
        const { schema, examples = {} } = content['application/json'] ?? {};
        for (const { value } of Object.values<any>(examples))
          found.set(JSON.stringify([schema, value]), { name: `${verb} ${path}`, schema, value });
      }
    }
  }
  return [...found.values()];
}

const openapi: any = openapiDocument(documented);
const asyncapi: any = asyncapiDocument();
const inAsyncapi = Object.entries<any>(asyncapi.components.messages).flatMap(
  ([name, { payload, examples = [] }]): Case[] =>
    examples.map((example: any) => ({ name, schema: payload, value: example.payload })),
);

for (const [document, cases] of [
  [openapi, casesOf(openapi)],
  [asyncapi, inAsyncapi],
] as const) {
  t.test(document.info.title, async (t) => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    const compiled = new Map<string, ValidateFunction>();
    let [right, wrong] = [0, 0];
    for (const { name, schema, value } of cases) {
      const key = JSON.stringify(schema);
      const validate = compiled.get(key) ?? ajv.compile({ ...schema, components: document.components });
      compiled.set(key, validate);
      t.same(faultsOf(schema, value, document), [], name);
      for (const changed of changesOf(value)) {
        const isValid = validate(changed);
        if (isValid) right++;
        else wrong++;
        if ((faultsOf(schema, changed, document).length === 0) !== isValid)
          t.fail(`${name}: ajv says ${isValid} of ${JSON.stringify(changed)}`);
      }
    }
    t.ok(right > 0 && wrong > 100, `${right} right ones, ${wrong} wrong ones`);
  });
}

t.test('a keyword that it does not know is no keyword that all values meet', async (t) => {
  t.throws(() => faultsOf({ multipleOf: 2 }, 3, {}), /multipleOf/);
  t.throws(() => faultsOf({ $ref: '#/components/schemas/None' }, 3, {}), /leads nowhere/);
});
