/**
 * The AsyncAPI document: valid under AsyncAPI's own schema, of the table of errors, and true of a socket that is open.
 */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import t from 'tap';
import type { TSchema } from 'typebox';
import { errors } from '../../src/base/errors.ts';
import { asyncapiDocument } from '../../src/http/reference/asyncapi.ts';
import {
  CallEvents,
  CallMessages,
  FinishMessage,
  FlushMessage,
  shape,
  StartMessage,
  TranscriptionEvents,
} from '../../src/wire/wire.ts';
import { silence, speaker, spoken, talk } from '../providers/voice/talker.ts';
import { openHouse } from './house.ts';

const document = asyncapiDocument() as any;
const { messages, schemas } = document.components;
const ajv = new Ajv2020({ strict: false, allErrors: true });

/** Validates a message's payload against the document's schema; null if it is valid. */
function wrongWith(name: string, payload: unknown): string | null {
  const validate = ajv.compile({ ...messages[name].payload, components: { schemas } });
  return validate(payload) ? null : `${name}: ${ajv.errorsText(validate.errors)}`;
}

const specification = async (): Promise<any> => {
  const path = createRequire(import.meta.url).resolve('@asyncapi/specs/schemas/3.0.0-without-$id.json');
  return JSON.parse(await readFile(path, 'utf8'));
};

t.test("the document is valid under AsyncAPI's schema, which finds faults", async (t) => {
  const judge = new Ajv({ strict: false, allErrors: true, validateFormats: false });
  const validate = judge.compile(await specification());
  t.ok(validate(document), judge.errorsText(validate.errors));
  for (const part of ['channels', 'operations', 'servers'])
    t.notOk(validate({ ...document, [part]: { one: { action: 'shout' } } }), part);
  t.notOk(validate({ ...document, info: {} }));
});

t.test('every reference leads somewhere, and every schema is used', async (t) => {
  const references = [
    ...new Set([...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path]) => path!)),
  ];
  const at = (path: string) => path.split('/').reduce((value, name) => value?.[name], document);
  t.same(
    references.filter((path) => at(path) === undefined),
    [],
  );
  const used = (name: string) => references.includes(name);
  t.same(
    Object.keys(schemas).filter((name) => !used(`components/schemas/${name}`)),
    [],
  );
  t.same(
    Object.keys(messages).filter(
      (name) =>
        !used(`components/messages/${name}`) ||
        !used(`channels/${name.startsWith('call.') ? 'call' : 'transcription'}/messages/${name}`),
    ),
    [],
  );
});

t.test('it has every message of the validators, with an example that they take', async (t) => {
  const dotted = <Each>(each: Readonly<Record<string, Each>>) =>
    Object.fromEntries(Object.entries(each).map(([name, one]) => [`call.${name}`, one]));
  const { receive, send, hear, speak } = document.operations;
  const namesOf = ({ messages: refs }: any): string[] => refs.map(({ $ref }: any) => $ref.split('/').at(-1)).sort();
  for (const [operation, schemas, binary] of [
    [receive, { start: StartMessage, flush: FlushMessage, finish: FinishMessage }, ['audio']],
    [send, TranscriptionEvents, []],
    [hear, dotted<TSchema>(CallMessages), ['call.audio']],
    [speak, dotted<TSchema>(CallEvents), ['call.reply']],
  ] as const) {
    t.same(namesOf(operation), [...binary, ...Object.keys(schemas)].sort());
    for (const [name, schema] of Object.entries<TSchema>(schemas)) {
      const {
        name: type,
        examples: [{ payload }],
      } = messages[name];
      t.same(shape(schema).parse(payload), payload, `${name}: no field is unknown`);
      t.equal(wrongWith(name, payload), null);
      t.equal(payload.type, type);
    }
  }
  const exampleOf = (name: string) => messages[name].examples[0].payload;
  t.type(wrongWith('partial', { ...exampleOf('partial'), stable: 'all' }), 'string');
});

t.test('close codes name errors of the table, and are in the words', async (t) => {
  const codes = new Set<string>(Object.values(errors).map(({ code }) => code));
  for (const { description, 'x-close-codes': closes } of Object.values<any>(document.channels)) {
    t.same(
      closes.map(({ code }: any) => code),
      [1000, 1008, 1009, 1011, 1012],
    );
    for (const { code, errors: named } of closes) {
      t.same(
        named.filter((name: string) => !codes.has(name)),
        [],
        String(code),
      );
      t.ok(description.includes(`- ${code} `), String(code));
    }
  }
  t.ok(codes.has(messages.error.examples[0].payload.code));
});

t.test('a server gives it away, and its sockets speak as it says', async (t) => {
  const house = await openHouse(t);
  const { status, headers, json } = await house.ask('/asyncapi.json', { key: null });
  t.same(
    [status, headers.get('content-type'), json],
    [200, 'application/json; charset=utf-8', JSON.parse(JSON.stringify(document))],
  );
  t.notOk(headers.has('x-ratelimit-limit'), 'it costs nobody anything');
  const again = await fetch(`${house.url}/asyncapi.json`, { headers: { 'if-none-match': headers.get('etag')! } });
  t.equal(again.status, 304);
  const packed = await fetch(`${house.url}/asyncapi.json`, { headers: { 'accept-encoding': 'gzip' } });
  t.equal(packed.headers.get('content-encoding'), 'gzip');
  await packed.text();

  const { id } = await speaker(house);
  const talker = await talk(house, id);
  talker.send(messages.start.examples[0].payload);
  talker.send({ type: 'start', sample_rate: 16_000, silence_ms: 300 });
  talker.burst(
    Buffer.concat([
      silence(500),
      await spoken(house, id, 'When are you open on Saturday, and for how long?'),
      silence(1000),
    ]),
  );
  await talker.until('transcript.final');
  talker.send({ type: 'finish' });
  t.equal(await talker.closed, 1000);
  const refused = await talk(house, id);
  refused.send({ type: 'shout' });
  t.equal(await refused.closed, 1008);

  const nameOf = new Map<string, string>(
    Object.entries<any>(messages)
      .filter(([name]) => !name.startsWith('call.'))
      .map(([name, { name: type }]) => [type, name]),
  );
  const heard = [...talker.heard, ...refused.heard];
  t.same(heard.map((message) => wrongWith(nameOf.get(message.type)!, message)).filter(Boolean), []);
  t.same(
    [...new Set(heard.map(({ type }) => nameOf.get(type)!))].sort(),
    Object.keys(TranscriptionEvents).sort(),
    'every event came',
  );
});
