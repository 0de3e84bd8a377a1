/** The reference: every operation has its words and its example, and a server accepts and answers the examples. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { createParser } from 'eventsource-parser';
import t, { type Test } from 'tap';
import { errors } from '../../src/base/errors.ts';
import { openapiDocument } from '../../src/http/reference/openapi.ts';
import { slug } from '../../src/http/reference/examples.ts';
import { areas, introduction, nameOf, referenceOf, type OperationEntry } from '../../src/http/reference.ts';
import { signInToken } from '../../src/http/reference/examples.ts';
import type { Route } from '../../src/http/request.ts';
import { documented, routes } from '../../src/http/routes.ts';
import { queryObject } from '../../src/wire/wire.ts';
import { openHouse, type Answer, type House } from './house.ts';

const entries = new Map<string, OperationEntry>(areas.flatMap(({ entries }) => Object.entries(entries)));
const entryOf = (route: Route): OperationEntry => referenceOf(route)!.entry;

t.test('every operation has an entry, and every entry an operation', async (t) => {
  t.same([...entries.keys()].sort(), documented.map(nameOf).sort());
  t.equal(areas.flatMap(({ entries }) => Object.keys(entries)).length, entries.size, 'each in one area');
});

t.test('each write documents its retry', async (t) => {
  t.same(documented.filter((route) => route.method !== 'GET' && entryOf(route).repeat === undefined).map(nameOf), []);
});

t.test('texts name no provider of ours, no store and no library', async (t) => {
  for (const text of [
    introduction,
    ...[...entries.values()].map(({ does, repeat, surprises }) => [does, repeat, surprises].join(' ')),
  ]) {
    t.notMatch(text, /undefined|NaN|\[object|redis|lmdb|xstate|scripted/i);
  }
});

const isAudio = ({ success }: Route): boolean => success.content?.type.startsWith('audio/') ?? false;

t.test('an example is shown wherever there is something to show', async (t) => {
  const lacking = documented.filter((route) => {
    const { body, answer } = entryOf(route);
    const { content } = route.success;
    return (
      (body === undefined) !== (route.body === null) || (answer === undefined) !== (content === null || isAudio(route))
    );
  });
  t.same(lacking.map(nameOf), []);
});

t.test("the route's own validators take the example as it stands", async (t) => {
  for (const route of documented) {
    const { query = {}, body, headers = {} } = entryOf(route);
    t.same(
      route.query.parse(queryObject(searchOf(query).toString(), route.query.schema)),
      query,
      `${nameOf(route)}: query`,
    );
    if (route.body !== null) t.same(route.body.parse(body), body, `${nameOf(route)}: no field is unknown`);
    t.same(Object.keys(headers), route.repeatable ? ['Idempotency-Key'] : [], `${nameOf(route)}: headers`);
  }
});

function searchOf(query: OperationEntry['query'] & {}): URLSearchParams {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) search.set(name, String(value));
  return search;
}

t.test('the errors that surprise are errors of the operation', async (t) => {
  const { paths } = openapiDocument(documented) as { paths: any };
  const codes = new Set(Object.values(errors).map(({ code }) => code as string));
  for (const route of documented) {
    const { responses } = paths[route.path][route.method.toLowerCase()];
    const answered = new Set(
      Object.values<any>(responses)
        .flatMap(({ content }) => Object.values<any>(content?.['application/json']?.examples ?? {}))
        .map(({ value }) => value.error?.code),
    );
    const said = [...(entryOf(route).surprises ?? '').matchAll(/`(\w+)`/g)]
      .map(([, code]) => code!)
      .filter((code) => codes.has(code));
    t.same(
      said.filter((code) => !answered.has(code)),
      [],
      nameOf(route),
    );
  }
});

interface Event {
  readonly event: string | undefined;
  readonly id: string | undefined;
  readonly data: any;
}

function eventsOf(text: string): Event[] {
  const events: Event[] = [];
  createParser({ onEvent: ({ event, id, data }) => events.push({ event, id, data: JSON.parse(data) }) }).feed(text);
  return events;
}

t.test('each example of an answer has the shape that its schema states', async (t) => {
  const { paths, components } = openapiDocument(documented) as { paths: any; components: any };
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  const isValid = (schema: object, value: unknown, name: string): void => {
    const validate = ajv.compile({ ...schema, components });
    t.ok(validate(value), `${name}: ${ajv.errorsText(validate.errors)}`);
  };
  for (const route of documented) {
    const response = paths[route.path][route.method.toLowerCase()].responses[route.success.status];
    for (const [type, { schema, examples }] of Object.entries<any>(response.content ?? {})) {
      if (examples === undefined) continue;
      const { value } = examples.example;
      isValid(schema, value, nameOf(route));
      if (type === 'text/event-stream' && !route.path.startsWith('/v1/'))
        isValid(
          {
            $ref: `#/components/schemas/${route.path.endsWith('/sessions/{id}/events') ? 'SessionEvents' : 'TurnEvents'}`,
          },
          eventsOf(value),
          nameOf(route),
        );
    }
  }
});

t.test('the ids of the events count code points, from the cursor of the example on', async (t) => {
  for (const name of ['POST /sessions/{id}/chat', 'GET /sessions/{id}/turns/{turn_id}/events']) {
    const { query, answer } = entries.get(name)!;
    let count = Number(query?.['after'] ?? 0);
    for (const { event, id, data } of eventsOf(answer as string)) {
      if (event === 'message.delta') count += [...data.text].length;
      t.equal(id, String(count), `${name}: ${event}`);
    }
  }
});

/** Returns the paths where the shape differs from the example's. A null matches anything; the schema checks it. */
function differences(example: unknown, real: unknown, path = ''): string[] {
  if (example === null || real === null) return [];
  if (Array.isArray(example) && Array.isArray(real)) {
    if (example.length > 0 && real.length === 0) return [`${path} is empty`];
    return real.flatMap((item, index) =>
      differences(example[Math.min(index, example.length - 1)], item, `${path}[${index}]`),
    );
  }
  if (typeof example !== typeof real || Array.isArray(example) !== Array.isArray(real))
    return [`${path} is ${typeof real}, not ${typeof example}`];
  if (typeof example !== 'object') return [];
  const names = new Set([...Object.keys(example), ...Object.keys(real as object)]);
  return [...names].flatMap((name) => {
    const [one, other] = [(example as any)[name], (real as any)[name]];
    return (one === undefined) === (other === undefined)
      ? differences(one, other, `${path}.${name}`)
      : [`${path}.${name} is ${other === undefined ? 'missing' : 'new'}`];
  });
}

const inWorkspace = '/console/api/workspaces/{w}';
/** A workspace from its creation to its end: every operation once, each on what those before it have made. */
const story = [
  ...[
    'GET /healthz',
    'GET /readyz',
    'GET /metrics',
    'GET /openapi.json',
    'GET /asyncapi.json',
    'GET /docs',
    'GET /console/api/load',
    'GET /console/api/machines',
    'GET /console/api/machines/{kind}',
  ],
  ...['POST sign-in', 'GET sign-ins', 'DELETE sign-ins/{id}', 'GET people', 'GET me', 'POST sign-out'].map((line) =>
    line.replace(' ', ' /console/api/'),
  ),
  ...[
    'POST /console/api/workspaces',
    'POST /console/api/sign-in-links',
    'GET /console/api/workspaces',
    `GET ${inWorkspace}`,
    `PATCH ${inWorkspace}`,
    'GET /console/api/audit',
  ],
  ...['POST', 'GET'].map((method) => `${method} ${inWorkspace}/credentials`),
  ...[`PATCH ${inWorkspace}/credentials/{id}`, `POST ${inWorkspace}/credentials/{id}/test`],
  ...['POST', 'GET'].map((method) => `${method} ${inWorkspace}/assistants`),
  ...['disable', 'enable', 'unpublish', 'publish'].map((verb) => `POST ${inWorkspace}/assistants/{id}/${verb}`),
  ...['GET', 'PATCH'].map((method) => `${method} ${inWorkspace}/assistants/{id}`),
  ...['POST', 'GET'].map((method) => `${method} ${inWorkspace}/keys`),
  ...['GET', 'PATCH'].map((method) => `${method} ${inWorkspace}/keys/{id}`),
  `POST ${inWorkspace}/keys/{id}/rotate`,
  ...['GET /assistants', 'GET /assistants/{id}', 'POST /sessions', 'GET /sessions', 'GET /sessions/{id}'],
  ...[
    'POST /sessions/{id}/chat',
    'GET /sessions/{id}/turns/{turn_id}/events',
    'POST /sessions/{id}/turns/{turn_id}/abort',
    'PUT /sessions/{id}/turns/{turn_id}/feedback',
    'DELETE /sessions/{id}/turns/{turn_id}/feedback',
    'GET /sessions/{id}/transcript',
  ],
  ...['GET /usage', 'GET /voices', 'POST /speech', 'POST /transcription-tokens', 'POST /call-tokens', 'POST /mcp'],
  // The end of the visitor's turn is the first event.
  `POST ${inWorkspace}/webhooks`,
  ...[
    'GET /p/{slug}/about',
    'POST /p/{slug}/visitors',
    'POST /p/{slug}/sessions',
    'GET /p/{slug}/sessions/{id}',
    'POST /p/{slug}/sessions/{id}/chat',
  ],
  ...[
    'GET /p/{slug}/sessions/{id}/turns/{turn_id}/events',
    'POST /p/{slug}/sessions/{id}/turns/{turn_id}/abort',
    'PUT /p/{slug}/sessions/{id}/turns/{turn_id}/feedback',
    'DELETE /p/{slug}/sessions/{id}/turns/{turn_id}/feedback',
    'GET /p/{slug}/sessions/{id}/transcript',
  ],
  ...[
    'POST /p/{slug}/speech',
    'POST /p/{slug}/transcription-tokens',
    'POST /p/{slug}/call-tokens',
    'POST /p/{slug}/sessions/{id}/end',
    'GET /p/{slug}/sessions/{id}/events',
    `GET ${inWorkspace}/assistants/{id}/link`,
    `POST ${inWorkspace}/assistants/{id}/link/identity`,
    `DELETE ${inWorkspace}/assistants/{id}/link/identity`,
  ],
  ...[
    'sessions',
    'sessions/{id}',
    'sessions/{id}/transcript',
    'usage',
    'sessions/{id}/history',
    'sessions/{id}/turns/{turn_id}',
    'sessions/{id}/turns/{turn_id}/history',
    'keys/{id}/history',
    'assistants/{id}/history',
  ].map((path) => `GET ${inWorkspace}/${path}`),
  `POST ${inWorkspace}/assistants/{id}/preview`,
  ...['POST /sessions/{id}/end', 'GET /sessions/{id}/events', `POST ${inWorkspace}/keys/{id}/revoke`],
  // From here on the session is the trial.
  ...[
    `POST ${inWorkspace}/assistants/{id}/trials`,
    `POST ${inWorkspace}/sessions/{id}/call-tokens`,
    `POST ${inWorkspace}/sessions/{id}/chat`,
    `GET ${inWorkspace}/sessions/{id}/turns/{turn_id}/events`,
  ],
  ...[`POST ${inWorkspace}/sessions/{id}/turns/{turn_id}/abort`, `POST ${inWorkspace}/sessions/{id}/end`],
  `GET ${inWorkspace}/sessions/{id}/events`,
  ...[
    `POST ${inWorkspace}/tools`,
    `GET ${inWorkspace}/tools`,
    `GET ${inWorkspace}/tools/{id}`,
    `PATCH ${inWorkspace}/tools/{id}`,
    `POST ${inWorkspace}/tools/{id}/rotate-secret`,
    `GET ${inWorkspace}/sessions/{id}/turns/{turn_id}/steps`,
    `GET ${inWorkspace}/webhooks`,
    `GET ${inWorkspace}/webhooks/{id}`,
    `PATCH ${inWorkspace}/webhooks/{id}`,
    `GET ${inWorkspace}/webhooks/{id}/deliveries`,
    `POST ${inWorkspace}/webhooks/{id}/deliveries/{delivery_id}/retry`,
  ],
  ...[
    'GET /versions',
    'GET /versions/{n}',
    'GET /versions/{n}/changes',
    'POST /versions/{n}/restore',
    'POST /rollback',
    'POST /rollout',
    'POST /rollout/end',
    'POST /recall',
    'POST /tests',
    'GET /tests',
    'GET /tests/{test_id}',
    'PATCH /tests/{test_id}',
    'POST /test-runs',
    'DELETE /test-runs/{run_id}',
    'GET /test-runs',
    'GET /test-runs/{run_id}',
    'DELETE /tests/{test_id}',
  ].map((one) => one.replace(' ', ` ${inWorkspace}/assistants/{id}`)),
  ...[
    'sessions/{id}',
    'visitors/{visitor_id}',
    'assistants/{id}',
    'credentials/{id}',
    'tools/{id}',
    'webhooks/{id}',
  ].map((path) => `DELETE ${inWorkspace}/${path}`),
  `DELETE ${inWorkspace}`,
];

/** Maps the ids of the examples to the real ones. */
class Names {
  readonly #learned = new Map<string, string>();

  /** Wherever the example has an id and the answer another, the first is mapped to the second. */
  learn(example: unknown, real: unknown): void {
    if (typeof example === 'string' && typeof real === 'string' && /^[a-z]+_[0-9a-z]{26}(?:_|$)/.test(example))
      this.#learned.set(example, real);
    if (typeof example !== 'object' || example === null || typeof real !== 'object' || real === null) return;
    for (const [name, value] of Object.entries(example)) this.learn(value, (real as any)[name]);
  }

  say(example: string, real: string): void {
    this.#learned.set(example, real);
  }

  /** The example with the ids of here. */
  in<T>(example: T): T {
    return JSON.parse(
      [...this.#learned].reduce((text, [from, to]) => text.replaceAll(from, to), JSON.stringify(example)),
    );
  }
}

/** The request of the example. */
function send(house: House, route: Route, key: string | null, names: Names): Promise<Answer> {
  const { query = {}, headers, body } = entryOf(route);
  const { parameters } = (openapiDocument([route]) as any).paths[route.path][route.method.toLowerCase()];
  const examples = new Map<string, string>(
    parameters.filter((one: any) => one.in === 'path').map((one: any) => [one.name, one.example]),
  );
  const path = names.in(route.path.replace(/\{(\w+)\}/g, (_, name: string) => examples.get(name)!));
  const search = searchOf(names.in(query));
  const whole = search.size > 0 ? `${path}?${search}` : path;
  return house.ask(whole, {
    method: route.method,
    key,
    ...(headers && { headers }),
    ...(body === undefined ? {} : { body: names.in(body) }),
  });
}

function compare(t: Test, name: string, example: unknown, answer: Answer, names: Names): void {
  if (example === undefined) return void t.equal(answer.text, '', `${name} has no body`);
  if (name === 'GET /metrics')
    return void t.same(
      (example as string).match(/^#.+$|^\w+/gm)!.filter((line) => !answer.text.includes(line)),
      [],
      name,
    );
  // Values of any type.
  if (name.endsWith('/changes'))
    return void t.same(
      Object.keys(answer.json.data[0]).sort(),
      Object.keys((example as { data: object[] }).data[0]!).sort(),
      name,
    );
  // Excerpts.
  if (name === 'GET /docs') return void t.ok(answer.text.startsWith(example as string), name);
  if (name === 'GET /openapi.json')
    return void t.has(answer.json, { openapi: (example as any).openapi, info: (example as any).info });
  if (name === 'GET /asyncapi.json')
    return void t.has(answer.json, { asyncapi: (example as any).asyncapi, info: (example as any).info });
  if (typeof example !== 'string') {
    t.same(differences(example, answer.json), [], `${name} answers in the example's shape`);
    return names.learn(example, answer.json);
  }
  const [shown, got] = [eventsOf(example), eventsOf(answer.text)];
  t.same(
    [...new Set(got.map(({ event }) => event))],
    [...new Set(shown.map(({ event }) => event))],
    `${name} has the example's events`,
  );
  for (const one of got)
    t.same(
      differences(
        shown.find(({ event }) => event === one.event),
        one,
      ),
      [],
      `${name}: ${one.event}`,
    );
  names.learn(shown[0], got[0]);
}

t.test('a server takes every example, and answers in the shape of the example', async (t) => {
  // No tool is at the example's address, and the example's assistant, which requires a visitor's field, has no way in
  // under /v1/ (openai.test.ts).
  t.same(
    [
      ...story,
      // Nobody but the operator is signed in, who cannot be changed (people.test.ts).
      'PATCH /console/api/people/{id}',
      // The rollout of the example has ended (rollouts.test.ts).
      `POST ${inWorkspace}/assistants/{id}/rollout/promote`,
      // The assistant answers these sessions alone (attendance.test.ts).
      ...['/sessions/{id}/ask', '/p/{slug}/sessions/{id}/ask'].map((path) => `POST ${path}`),
      ...['take', 'messages', 'return', 'release'].map((verb) => `POST ${inWorkspace}/sessions/{id}/${verb}`),
      `GET ${inWorkspace}/desk`,
      `POST ${inWorkspace}/tools/{id}/refresh`,
      `POST ${inWorkspace}/tools/{id}/test`,
      ...routes.map(nameOf).filter((name) => name.includes(' /v1/')),
    ].sort(),
    routes.map(nameOf).sort(),
    'every operation is asked for',
  );
  const house = await openHouse(t);
  const names = new Names();
  names.say(signInToken, house.operatorToken);
  let visitor: string | null = null;
  const key = ({ caller }: Route): string | null =>
    caller === 'key'
      ? names.in(secretOf())
      : caller === 'operator'
        ? house.operatorToken
        : caller === 'visitor'
          ? visitor
          : null;
  for (const name of story) {
    const route = routes.find((one) => nameOf(one) === name)!;
    // No provider is at the example's address: the reply comes from the embedded model.
    if (name === 'GET /assistants') await answersItself(house, names);
    const answer = await send(house, route, key(route), names);
    visitor = answer.json?.token?.startsWith('vis_') ? answer.json.token : visitor;
    if (!t.equal(answer.status, route.success.status, `${name}: ${answer.status < 400 ? '' : answer.text}`)) continue;
    if (isAudio(route))
      t.same(
        [answer.headers.get('content-type'), answer.headers.get('x-audio-sample-rate'), answer.text.slice(0, 4)],
        ['audio/wav', '16000', 'RIFF'],
        name,
      );
    else compare(t, name, entryOf(route).answer, answer, names);
  }
});

const secretOf = (): string => (entries.get(`POST ${inWorkspace}/keys`)!.answer as { key: string }).key;

async function answersItself(house: House, names: Names): Promise<void> {
  const { id } = entries.get('GET /assistants/{id}')!.answer as { id: string };
  const { id: workspaceId } = entries.get(`GET ${inWorkspace}`)!.answer as { id: string };
  const path = names.in(`/workspaces/${workspaceId}/assistants/${id}`);
  const { status, text } = await house.console(path, {
    method: 'PATCH',
    body: {
      model: { provider: 'scripted', name: 'scripted', credential_id: null },
      channels: { link: true },
      link: { slug, feedback: true },
    },
  });
  if (status !== 200) throw new Error(text);
  await house.console(`${path}/publish`, { method: 'POST' });
}
