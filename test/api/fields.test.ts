/**
 * Bodies and their fields: those answered 400, those answered 422 and for which field, and those accepted (contract 2,
 * 6 and 12).
 */
import t, { type Test } from 'tap';
import { edge, openWorkspace, textOf, type House } from './house.ts';
import { isRefused, missingField, refusals, unrated, unreadableHeader, wrongField, type Refusal } from './refusal.ts';

const bodyBytesMax = 256 * 1024;
const bytes = (...parts: (string | number[])[]) => Buffer.concat(parts.map((part) => Buffer.from(part as string)));

t.test(`bodies on ${edge}`, async (t) => {
  const house = await openWorkspace();
  const { id } = await house.assistant();
  await t.test('a body that is not JSON is refused', (t) => unreadable(t, house, id));
  await t.test('256 KiB and no more', (t) => largest(t, house, id));
  await t.test('texts of any language survive', (t) => languages(t, house, id));
});

async function unreadable(t: Test, house: House, id: string): Promise<void> {
  const malformed: Record<string, string | Uint8Array> = {
    empty: '',
    'white space alone': ' \r\n\t',
    'cut off': `{"assistant_id":"${id}"`,
    'a comma too many': `{"assistant_id":"${id}",}`,
    'single quotes': `{'assistant_id':'${id}'}`,
    'something after it': `{"assistant_id":"${id}"} x`,
    'two of them': `{"assistant_id":"${id}"}{}`,
    'a form': `assistant_id=${id}`,
    'a bare control character in a string': `{"assistant_id":"${id}","metadata":{"a":"\u0001"}}`,
    NaN: `{"assistant_id":"${id}","visitor":{"a":NaN}}`,
    'Latin-1': bytes(`{"assistant_id":"${id}","metadata":{"a":"`, [0xe9], '"}}'),
    'a UTF-8 sequence cut off': bytes(`{"assistant_id":"${id}","metadata":{"a":"`, [0xe2, 0x82], '"}}'),
    'a surrogate in UTF-8': bytes(`{"assistant_id":"${id}","metadata":{"a":"`, [0xed, 0xa0, 0x80], '"}}'),
    'an overlong sequence': bytes(`{"assistant_id":"${id}","metadata":{"a":"`, [0xc0, 0xaf], '"}}'),
    'UTF-16': Buffer.from(`{"assistant_id":"${id}"}`, 'utf16le'),
    'a NUL at its end': `{"assistant_id":"${id}"}\0`,
  };
  for (const [name, body] of Object.entries(malformed))
    isRefused(t, await house.ask('/sessions', { body }), refusals.malformedJson, name);
  isRefused(t, await house.ask('/sessions', { method: 'POST' }), refusals.malformedJson, 'no body at all');
  for (const body of ['[]', `[{"assistant_id":"${id}"}]`, '"text"', '5', 'true', 'null']) {
    isRefused(t, await house.ask('/sessions', { body }), refusals.notAnObject, body);
  }
  const inDebt = await house.newKey({ limits: { requests: 1 } });
  t.equal(
    (
      await house.ask('/sessions', {
        ...inDebt,
        headers: { 'content-type': 'text/plain' },
        body: `{"assistant_id":"${id}"}`,
      })
    ).status,
    201,
    'whatever its type is said to be',
  );
}

async function largest(t: Test, house: House, id: string): Promise<void> {
  const sized = (size: number) => {
    const head = `{"assistant_id":"${id}","unknown":"`;
    return `${head}${'x'.repeat(size - head.length - 2)}"}`;
  };
  t.equal((await house.ask('/sessions', { body: sized(bodyBytesMax) })).status, 201, 'exactly 256 KiB');
  isRefused(t, await house.ask('/sessions', { body: sized(bodyBytesMax + 1) }), refusals.tooLarge, 'one byte more');
  isRefused(t, await house.ask('/sessions', { body: sized(4 * bodyBytesMax) }), refusals.tooLarge, 'a megabyte');
  isRefused(
    t,
    await house.ask('/sessions', { body: 'x'.repeat(bodyBytesMax + 1) }),
    refusals.tooLarge,
    'too large before it is malformed',
  );
  t.equal((await house.ask('/sessions', { body: { assistant_id: id } })).status, 201, 'and the next request is served');
}

async function languages(t: Test, house: House, id: string): Promise<void> {
  const metadata = {
    größe: 'ø',
    日本: '語',
    '😀': '👩‍👩‍👧‍👦',
    '\u0000': '\u0000\u001f\u2028',
    constructor: 'x',
    toString: '',
    '': 'empty',
    'a/b~c.d': '\'"\\',
  };
  const visitor = { name: 'Zoë 𝒳', n: 1.5, zero: 0, yes: true, no: false, '': '' };
  const made = (await house.ask('/sessions', { body: { assistant_id: id, metadata, visitor } })).json;
  t.same([made.metadata, made.visitor], [metadata, visitor]);
  t.same((await house.ask(`/sessions/${made.id}`)).json, made, 'read again');
  t.same((await house.ask('/sessions?limit=1')).json.data[0], made, 'in the list');
  const message = 'Grüße 😀 \u0000 \u2028 שלום';
  await (await house.stream(`/sessions/${made.id}/chat`, { body: { message } })).rest();
  t.equal((await house.ask(`/sessions/${made.id}/transcript`)).json.data[0].content, message);
}

const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'v']));

t.test('each field is checked against its type and bounds', async (t) => {
  const world = await openWorld();
  await t.test('fields of a session are checked', (t) => ofSession(t, world));
  await t.test('metadata has bounds, counted in characters', (t) => bounds(t, world));
  await t.test('null is absent, an unknown field is ignored, of duplicates the last counts', (t) => leniency(t, world));
  await t.test('nesting without end is an unknown field like any other, and never our fault', (t) => nesting(t, world));
  await t.test('fields of a visitor are checked as the assistant requires them', (t) => ofVisitor(t, world));
  await t.test('fields of a message are checked', (t) => ofMessage(t, world));
  await t.test('a route without fields ignores a body', (t) => ofNoBody(t, world));
  await t.test('fields of a query are checked', (t) => ofQuery(t, world));
  await t.test('a window of usage is checked', (t) => ofWindow(t, world));
  await t.test('an Idempotency-Key is checked', (t) => ofIdempotencyKey(t, world));
});

type World = Awaited<ReturnType<typeof openWorld>>;

async function openWorld() {
  const house = await openWorkspace();
  const { id } = await house.assistant();
  const create = (body: object | string) =>
    house.ask('/sessions', { body: typeof body === 'string' ? body : { assistant_id: id, ...body } });
  const refuse = async (t: Test, cases: [body: object | string, refusal: Refusal][]): Promise<void> => {
    for (const [body, refusal] of cases) isRefused(t, await create(body), refusal, JSON.stringify(body).slice(0, 80));
  };
  return { house, id, create, refuse };
}

async function ofSession(t: Test, { id, create, refuse }: World): Promise<void> {
  await refuse(t, [
    ['{}', missingField('assistant_id')],
    [{ assistant_id: null }, missingField('assistant_id')],
    [{ assistant_id: 5 }, wrongField('assistant_id')],
    [{ assistant_id: '' }, wrongField('assistant_id')],
    [{ assistant_id: [id] }, wrongField('assistant_id')],
    [{ assistant_id: '\ud800' }, wrongField('assistant_id')],
    [{ visitor: [] }, wrongField('visitor')],
    [{ visitor: 'x' }, wrongField('visitor')],
    [{ visitor: { email: {} } }, wrongField('visitor.email')],
    [{ visitor: { email: ['x'] } }, wrongField('visitor.email')],
    [{ visitor: { email: '\ud800' } }, wrongField('visitor.email')],
    ['{"assistant_id":"x","visitor":{"n":1e999}}', wrongField('visitor.n')],
    [{ visitor: { '\udc00': 'x' } }, wrongField('visitor')],
    [{ metadata: [] }, wrongField('metadata')],
    [{ metadata: 'x' }, wrongField('metadata')],
    [{ metadata: { x: 5 } }, wrongField('metadata.x')],
    // Safe to log and to show.
    [{ metadata: { 'a\u001b[31m`b': 5 } }, wrongField('metadata.a\ufffd[31m\ufffdb')],
    [{ metadata: { x: true } }, wrongField('metadata.x')],
    [{ metadata: { x: {} } }, wrongField('metadata.x')],
    [{ metadata: { 'a\nb': {} } }, wrongField('metadata.a\ufffdb')],
    [{ metadata: { 'a.b/c~d': 5 } }, wrongField('metadata.a.b/c~d')],
    [{ metadata: { x: '\ud83d' } }, wrongField('metadata.x')],
    [{ metadata: { '\ud83d': 'x' } }, wrongField('metadata')],
  ]);
  isRefused(
    t,
    await create({ assistant_id: 'asst_none' }),
    refusals.noAssistant,
    'an id of nothing is not a wrong field',
  );
}

async function bounds(t: Test, { house, create, refuse }: World): Promise<void> {
  const fits = [
    pairs(16),
    { ['k'.repeat(64)]: 'v' },
    { ['😀'.repeat(64)]: 'v' },
    { x: 'v'.repeat(512) },
    { x: '😀'.repeat(512) },
    { x: '' },
    {},
  ];
  for (const metadata of fits) t.same((await create({ metadata })).json.metadata, metadata);
  const odd = '{"__proto__":"x","constructor":"y","__proto_":"z"}';
  for (const answer of [
    await create({ metadata: JSON.parse(odd) }),
    await create({ metadata: { ...JSON.parse(odd), a: '👋' } }),
  ]) {
    t.ok(answer.text.includes('"metadata":' + odd.slice(0, -1)), answer.text);
    t.ok(
      (await house.ask(`/sessions/${answer.json.id}`)).text.includes('"metadata":' + odd.slice(0, -1)),
      'and from the store',
    );
  }
  await refuse(t, [
    [{ metadata: pairs(17) }, wrongField('metadata')],
    [{ metadata: { x: 'v'.repeat(513) } }, wrongField('metadata.x')],
    [{ metadata: { x: '😀'.repeat(513) } }, wrongField('metadata.x')],
    [{ metadata: { ['k'.repeat(65)]: 'v' } }, wrongField(`metadata.${'k'.repeat(65)}`)],
    [{ metadata: { ['k'.repeat(10_000)]: 'v' } }, wrongField('metadata')],
  ]);
}

async function leniency(t: Test, { id, create }: World): Promise<void> {
  const bare = (await create({})).json;
  t.same([bare.visitor, bare.metadata], [{}, {}]);
  const nulls = (await create({ visitor: null, metadata: null })).json;
  t.same([nulls.visitor, nulls.metadata], [{}, {}]);
  t.same((await create({ metadata: { gone: null, kept: 'x' }, visitor: { gone: null, kept: 'x' } })).json.metadata, {
    kept: 'x',
  });
  t.same((await create({ metadata: { ...pairs(16), gone: null } })).json.metadata, pairs(16), 'nor does it count');
  const unknown = (await create({ status: 'ended', id: 'ses_x', unknown: { deep: [null, {}] }, __proto: 1 })).json;
  t.same([unknown.status, 'unknown' in unknown], ['open', false]);
  const twice = `{"assistant_id":5,"assistant_id":"${id}","metadata":{"a":"1","a":"2"},"metadata":{"b":"1","b":"2"}}`;
  t.same((await create(twice)).json.metadata, { b: '2' });
  isRefused(
    t,
    await create(`{"assistant_id":"${id}","assistant_id":5}`),
    wrongField('assistant_id'),
    'the last one, good or not',
  );
}

async function nesting(t: Test, { house, id, create }: World): Promise<void> {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  t.equal((await create(`{"assistant_id":"${id}","unknown":${deep}}`)).status, 201);
  isRefused(t, await create(`{"assistant_id":"${id}","metadata":{"x":${deep}}}`), wrongField('metadata.x'));
  const remembered = { headers: { 'idempotency-key': 'deep' }, body: `{"assistant_id":"${id}","unknown":${deep}}` };
  t.equal((await house.ask('/sessions', remembered)).status, 201, 'also where it has to be compared');
}

async function ofVisitor(t: Test, { house }: World): Promise<void> {
  const types = ['text', 'email', 'number', 'boolean'] as const;
  const good = { text: 'x', email: 'ada@example.com', number: 36, boolean: false };
  const required = await house.assistant({
    visitor_fields: types.map((type) => ({ name: type, type, required: true })),
  });
  const optional = await house.assistant({ visitor_fields: types.map((type) => ({ name: type, type })) });
  const open = (assistant: { id: string }, visitor: object) =>
    house.ask('/sessions', { body: { assistant_id: assistant.id, visitor } });
  const missing = (...names: string[]): Refusal => ({
    ...wrongField(''),
    code: 'missing_visitor_fields',
    message: `Required visitor fields are missing: ${names.map((name) => `\`visitor.${name}\``).join(', ')}.`,
  });
  t.same((await open(required, good)).json.visitor, good);
  t.equal((await open(required, { ...good, number: 0 })).status, 201, 'zero and false are values');
  t.equal((await open(optional, {})).status, 201);
  for (const type of types) {
    const { [type]: _, ...rest } = good;
    isRefused(t, await open(required, rest), missing(type), `without ${type}`);
    isRefused(t, await open(required, { ...good, [type]: '' }), missing(type), `an empty ${type}`);
    isRefused(t, await open(required, { ...good, [type]: null }), missing(type), `a null ${type}`);
  }
  isRefused(t, await open(required, {}), missing(...types), 'all of them');
  const wrong: Record<string, unknown[]> = {
    text: [5, true],
    email: [5, false, 'ada', '@', 'ada@', '@example.com', 'a b@c'],
    number: ['36', true],
    boolean: ['true', 1],
  };
  for (const assistant of [required, optional]) {
    for (const type of types)
      for (const value of wrong[type]!)
        isRefused(
          t,
          await open(assistant, { ...good, [type]: value }),
          wrongField(`visitor.${type}`),
          `${type} ${value}`,
        );
  }
  for (const type of ['text', 'email'] as const)
    t.equal((await open(optional, { ...good, [type]: '' })).status, 201, `an optional ${type} may be empty`);
  for (const type of ['number', 'boolean'] as const)
    isRefused(
      t,
      await open(optional, { ...good, [type]: '' }),
      wrongField(`visitor.${type}`),
      `an empty string is no ${type}`,
    );
  const inherited = await house.assistant({ visitor_fields: [{ name: 'constructor', required: true }] });
  isRefused(t, await open(inherited, {}), missing('constructor'), 'what every object has is not an answer');
}

async function ofMessage(t: Test, { house, id }: World): Promise<void> {
  const session = await house.session(id);
  const chat = (body: unknown) => house.ask(`/sessions/${session.id}/chat`, { body });
  const cases: [unknown, Refusal][] = [
    [{}, missingField('message')],
    [{ message: null }, missingField('message')],
    [{ message: 5 }, wrongField('message')],
    [{ message: ['Hi'] }, wrongField('message')],
    [{ message: '' }, wrongField('message')],
    [{ message: 'a\ud800' }, wrongField('message')],
    [{ message: '\udc00\ud800' }, wrongField('message')],
    ['{"message":"\\ud83d"}', wrongField('message')],
    [{ message: 'x'.repeat(8001) }, refusals.messageTooLong],
    [{ message: '😀'.repeat(8001) }, refusals.messageTooLong],
    [{ message: 'e\u0301'.repeat(4001) }, refusals.messageTooLong],
    ['[]', refusals.notAnObject],
    ['', refusals.malformedJson],
  ];
  for (const [body, refusal] of cases) isRefused(t, await chat(body), refusal, JSON.stringify(body).slice(0, 40));
  for (const message of ['x'.repeat(8000), '😀'.repeat(8000), 'e\u0301'.repeat(4000), ' ', '\n']) {
    const stream = await house.stream(`/sessions/${session.id}/chat`, { body: { message } });
    t.not(textOf(await stream.rest()), '', `${JSON.stringify(message).slice(0, 20)}… is answered`);
  }
}

/** Endpoints that want no body: none and any object will do. */
async function ofNoBody(t: Test, { house, id }: World): Promise<void> {
  const session = await house.session(id);
  const end = (body?: unknown) =>
    house.ask(`/sessions/${session.id}/end`, { method: 'POST', ...(body === undefined ? {} : { body }) });
  const cases: [string, Refusal][] = [
    ...['[]', '5', '"x"', 'null', 'true'].map((body): [string, Refusal] => [body, refusals.notAnObject]),
    ...['{', ' '].map((body): [string, Refusal] => [body, refusals.malformedJson]),
  ];
  for (const [body, refusal] of cases) isRefused(t, await end(body), refusal, body);
  t.equal((await house.ask(`/sessions/${session.id}`)).json.status, 'open', 'nothing was done');
  const publish = (body: string) =>
    house.console(`/workspaces/${house.workspaceId}/assistants/${id}/publish`, { body });
  isRefused(t, await publish('[]'), unrated(refusals.notAnObject), 'in the console as well');
  for (const body of [undefined, '', {}, { unknown: [1] }])
    t.equal((await end(body)).status, 200, JSON.stringify(body));
}

async function ofQuery(t: Test, { house, id }: World): Promise<void> {
  const { id: session } = await house.session(id);
  const wrong: [path: string, field: string][] = [
    ...['0', '101', '-1', '1.5', 'x', '', '1e1', '0x1', ' 5', '99999999999999999999'].flatMap(
      (value): [string, string][] =>
        ['/assistants', '/sessions', `/sessions/${session}/transcript`].map((path) => [
          `${path}?limit=${value}`,
          'limit',
        ]),
    ),
    ...['up', 'ASC', ''].map((value): [string, string] => [`/sessions?order=${value}`, 'order']),
    ...['streaming', 'OPEN', ''].map((value): [string, string] => [`/sessions?status=${value}`, 'status']),
    ...['x', '1.5', '', '-1'].flatMap((value): [string, string][] => [
      [`/usage?start=${value}`, 'start'],
      [`/usage?end=${value}`, 'end'],
    ]),
    ...['week', 'DAY', ''].map((value): [string, string] => [`/usage?bucket=${value}`, 'bucket']),
    ['/sessions?limit=5&limit=x', 'limit'],
  ];
  for (const [path, field] of wrong) isRefused(t, await house.ask(path), wrongField(field), path);
  for (const path of [
    '/assistants?limit=1',
    '/sessions?limit=100',
    '/sessions?limit=x&limit=5',
    '/sessions?unknown=1&__proto__=x',
    '/usage?start=0&end=0',
  ]) {
    t.equal((await house.ask(path)).status, 200, path);
  }
}

async function ofWindow(t: Test, { house }: World): Promise<void> {
  const day = 86_400;
  const usage = (start: number, end: number) => house.ask(`/usage?start=${start}&end=${end}`);
  t.equal((await usage(day, 91 * day)).status, 200, 'exactly 90 days');
  t.same((await usage(day, day)).json.data, [], 'none');
  isRefused(t, await usage(day, 91 * day + 1), refusals.invalidRange, 'a second more than 90 days');
  isRefused(t, await usage(day + 1, day), refusals.invalidRange, 'backwards');
  isRefused(t, await house.ask('/usage?end=5&start=6'), refusals.invalidRange);
  isRefused(t, await house.ask('/usage?start=0'), refusals.invalidRange, 'from the beginning of time until now');
}

async function ofIdempotencyKey(t: Test, { house, id }: World): Promise<void> {
  const keyed = (key: string, body: unknown = { assistant_id: id }) =>
    house.ask('/sessions', { headers: { 'idempotency-key': key }, body });
  for (const key of ['', '   ', 'x'.repeat(256), 'a\tb', 'é'])
    isRefused(t, await keyed(key), unreadableHeader('Idempotency-Key'), JSON.stringify(key).slice(0, 20));
  for (const key of ['x', 'x'.repeat(255), 'with a space', '"{}~'])
    t.equal((await keyed(key)).status, 201, key.slice(0, 20));
  const first = await keyed('same', `{"assistant_id":"${id}","metadata":{"a":"1","b":"2"}}`);
  const again = await keyed('same', ` {"metadata": {"b":"2","a":"1"},\n"assistant_id":"${id}"} `);
  t.same(
    [again.status, again.json.id, again.headers.get('idempotent-replayed')],
    [201, first.json.id, 'true'],
    'compared as parsed JSON',
  );
  t.equal(again.headers.get('location'), first.headers.get('location'));
  t.equal(first.headers.get('idempotent-replayed'), null);
  const others = [
    { metadata: { a: '1', b: '3' } },
    { metadata: { a: '1', b: '2' }, visitor: {} },
    { metadata: { a: '1', b: '2' }, unknown: 1 },
  ];
  for (const other of others)
    isRefused(t, await keyed('same', { assistant_id: id, ...other }), refusals.mismatch, JSON.stringify(other));
  const { key } = await house.newKey();
  t.not(
    (await house.ask('/sessions', { key, headers: { 'idempotency-key': 'same' }, body: { assistant_id: id } })).json.id,
    first.json.id,
    "another key's is another",
  );
  isRefused(t, await keyed('failed', { assistant_id: 'asst_none' }), refusals.noAssistant);
  t.equal((await keyed('failed')).status, 201, 'a failure is not remembered');
}
