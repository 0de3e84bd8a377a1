/** The OpenAPI 3.1 document: the table of routes and the schemas of their validators, written out. */
import { limits } from '../../base/limits.ts';
import { Type, type TSchema } from 'typebox';
import manifest from '../../../package.json' with { type: 'json' };
import { errors, refused, type ErrorName } from '../../base/errors.ts';
import { isOpenai } from '../paths.ts';
import { openaiFailureText, openaiStatus } from '../openai-errors.ts';
import { Components } from './openapi/components.ts';
import { areas, descriptionOf, introduction, pathParameter, referenceOf, type OperationEntry } from '../reference.ts';
import { isConsole, isLink, type Route } from '../request.ts';
import * as wire from '../../wire/wire.ts';

type Json = Record<string, unknown>;

/** The document as an object that `JSON.stringify` takes. */
export function openapiDocument(routes: readonly Route[]): Json {
  const components = new Components();
  const paths: Record<string, Json> = {};
  for (const route of routes) (paths[route.path] ??= {})[route.method.toLowerCase()] = operation(route, components);
  return {
    openapi: '3.1.0',
    info: {
      title: 'parley',
      version: manifest.version,
      description: introduction,
      contact: { name: 'The operator of this server' },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The server that this document came from.' }],
    tags: areas.map(({ name, description }) => ({ name, description })),
    'x-tagGroups': groups.map((name) => ({
      name,
      tags: areas.filter(({ group }) => group === name).map((area) => area.name),
    })),
    paths,
    components: { schemas: components.schemas, headers, securitySchemes },
    'x-events': Object.fromEntries(
      Object.entries({ ...wire.events, ...wire.sessionEvents }).map(([name, schema]) => [
        name,
        components.reference(schema),
      ]),
    ),
  };
}

const groups = ['API', 'Service', 'Console'] as const;

const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer', description: 'An API key: `Authorization: Bearer KEY`.' },
  apiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key', description: 'An API key.' },
  operator: { type: 'http', scheme: 'bearer', description: 'The operator token.' },
  visitor: { type: 'http', scheme: 'bearer', description: "A visitor's token: `Authorization: Bearer TOKEN`." },
  person: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-parley-00000000',
    description:
      'The cookie of a sign-in; the digits are those of the installation. A request with it that changes something must come from a page of the same origin.',
  },
  token: {
    type: 'apiKey',
    in: 'query',
    name: 'token',
    description: 'A token of the socket; the subprotocol `token.TOKEN` says the same.',
  },
};

const integer = (description: string) => ({ description, schema: { type: 'integer' } });
const string = (description: string) => ({ description, schema: { type: 'string' } });
const headers: Record<string, Json> = {
  'X-Request-Id': string('Identifies the request; failures carry it in their body as well.'),
  'X-RateLimit-Limit': integer("The budget's ceiling per minute."),
  'X-RateLimit-Remaining': integer('Whole requests left, never below 0.'),
  'X-RateLimit-Reset': integer('The Unix second at which the budget is full again.'),
  'X-RateLimit-Limit-Requests': integer('The same as `X-RateLimit-Limit`.'),
  'X-RateLimit-Remaining-Requests': integer('The same as `X-RateLimit-Remaining`.'),
  'X-RateLimit-Reset-Requests': string('The seconds until the budget is full again, as in `7s`.'),
  'X-Should-Retry': string('`false` where a repeat is of no use.'),
  'Retry-After': integer('Whole seconds until a retry can pass.'),
  'WWW-Authenticate': string('Always `Bearer`.'),
  Location: string('The path of the created record.'),
  'Set-Cookie': string('The cookie of the sign-in, or its removal.'),
  ETag: string('Changes when the answer does.'),
  'Cache-Control': string('How long the answer may be kept.'),
  'X-Accel-Buffering': string('`no`: a proxy must pass each piece on as it comes.'),
  'X-Turn-Id': string('The turn that answers.'),
  'X-Session-Id': string('The session that the turn is held in.'),
  'X-Visitor-Addresses': {
    description:
      '`shared` if a request came with `X-Forwarded-For` from an address that `PARLEY_TRUSTED_PROXIES` does not name: if that is a proxy, all visitors behind it have one address, but a visitor can also have made the header up; else `own`.',
    schema: { type: 'string', enum: ['own', 'shared'] },
  },
  'X-Reached-At': string(
    'The origin at which the server believes that this request reached it, with the scheme and host that a trusted proxy reports.',
  ),
  'X-Audio-Sample-Rate': integer('The rate, in hertz, of the audio that was encoded.'),
  'Idempotent-Replayed': string('`true` where the same request was answered before.'),
};

const referTo = (names: Iterable<string>): Json =>
  Object.fromEntries([...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const security = {
  key: [{ bearer: [] }, { apiKey: [] }],
  operator: [{ operator: [] }, { person: [] }],
  token: [{ token: [] }],
  call: [{ token: [] }],
  visitor: [{ visitor: [] }],
  newcomer: [{}, { visitor: [] }],
  guest: [{}],
  anyone: [],
} as const;

/** Whether the caller shows a credential in a header. */
const isByHeader = ({ caller }: Route): boolean => caller === 'key' || caller === 'operator';

/** OpenAPI has no words for a WebSocket: it is a GET that is answered with 101. */
const isSocket = ({ success }: Route): boolean => success.status === 101;

function operation(route: Route, components: Components): Json {
  const { area, entry } = referenceOf(route) ?? {};
  return {
    operationId: route.operation,
    summary: route.summary,
    ...(entry && { description: descriptionOf(route, entry) }),
    tags: area ? [area.name] : [],
    security: security[route.caller],
    parameters: parameters(route, entry, components),
    ...(route.body === null
      ? {}
      : {
          requestBody: {
            required: !route.bodyOptional,
            content: { 'application/json': media(route.body.schema, entry?.body, components) },
          },
        }),
    responses: { ...success(route, entry, components), ...failures(route, components) },
  };
}

/** A body's schema, with the example where there is one. */
const media = (schema: TSchema, value: unknown, components: Components): Json => ({
  schema: components.reference(schema),
  ...(value === undefined ? {} : { examples: { example: { value } } }),
});

function parameters(route: Route, entry: OperationEntry | undefined, components: Components): Json[] {
  const inPath = (route.path.match(/\{\w+\}/g) ?? []).map((braced) => {
    const name = braced.slice(1, -1);
    return { name, in: 'path', required: true, ...pathParameter(route.path, name), schema: { type: 'string' } };
  });
  const { properties = {}, required = [] } = route.query.schema as {
    properties?: Record<string, TSchema>;
    required?: readonly string[];
  };
  const inQuery = Object.entries(properties).map(([name, schema]) =>
    queryParameter(name, required.includes(name), components.inline(schema) as Json, entry?.query?.[name]),
  );
  return [...inPath, ...inQuery, ...headerParameters(route, entry)];
}

/** Descriptions are beside the schema, where readers look for them. */
function queryParameter(name: string, required: boolean, { description, ...schema }: Json, example: unknown): Json {
  return {
    name,
    in: 'query',
    required,
    ...(description === undefined ? {} : { description }),
    ...exampleOf(example),
    schema,
  };
}

/** A client may ask whether its cached answer is still current. */
const isTagged = ({ caller, success }: Route): boolean =>
  caller !== 'operator' && (success.headers?.includes('ETag') ?? false);

function headerParameters(route: Route, entry: OperationEntry | undefined): Json[] {
  const names = {
    'Idempotency-Key': route.repeatable && 'At most 255 printable ASCII characters; remembered for 24 hours.',
    'X-Conversation-Id':
      route.path === '/v1/chat/completions' && 'At most 128 printable ASCII characters: the conversation that goes on.',
    'Last-Event-ID': route.path.endsWith('/events') && 'The `id` of the last event seen.',
    'If-Match':
      route.errors.includes('draft_changed') && 'The `ETag` of the draft, or of the tool, that the change is based on.',
    'If-None-Match': isTagged(route) && 'An `ETag` of an earlier answer.',
  };
  return Object.entries(names)
    .filter(([, description]) => description)
    .map(([name, description]) => ({
      name,
      in: 'header',
      required: false,
      description,
      ...exampleOf(entry?.headers?.[name]),
      schema: { type: 'string' },
    }));
}

const exampleOf = (example: unknown): Json => (example === undefined ? {} : { example });

const rateHeaders = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const;
/** The headers of a failure that OpenAI's clients know (contract 14). */
const openaiHeaders = [
  'X-RateLimit-Limit-Requests',
  'X-RateLimit-Remaining-Requests',
  'X-RateLimit-Reset-Requests',
  'X-Should-Retry',
] as const;
/** The headers of an answer to a person who is signed in. */
const cookieHeaders = ['Cache-Control', 'Set-Cookie'] as const;

function success(route: Route, entry: OperationEntry | undefined, components: Components): Json {
  const { status, description, content, headers: own = [], exports = [] } = route.success;
  const names = new Set([
    'X-Request-Id',
    ...(route.caller === 'key' ? rateHeaders : []),
    ...(isOpenai(route.path) ? openaiHeaders.slice(0, 3) : []),
    ...(route.caller === 'operator' ? cookieHeaders : []),
    ...own,
    ...(route.repeatable ? ['Idempotent-Replayed'] : []),
  ]);
  // A record is exported as text; speech is audio in every type.
  const exportSchema = content?.type.startsWith('audio/') ? content.schema : Type.String();
  const exported = Object.fromEntries(
    exports.map((type) => [type, media(exportSchema, entry?.exports?.[type], components)]),
  );
  const body =
    content === null
      ? {}
      : { content: { [content.type]: media(content.schema, entry?.answer, components), ...exported } };
  const answers: Json = { [status]: { description, headers: referTo(names), ...body } };
  // Tools look for a success among the 2XX codes.
  if (isSocket(route)) answers['2XX'] = { description: 'Never sent: an upgrade is answered with 101.' };
  if (route.success.orNothing !== undefined)
    answers['204'] = { description: route.success.orNothing, headers: referTo(names) };
  if (isTagged(route)) answers['304'] = { description: 'The client has it already.', headers: referTo(names) };
  return answers;
}

/** The pipeline's own failures, depending on the route. */
function refusals(route: Route): Set<ErrorName> {
  const names: ErrorName[] = [];
  if (isByHeader(route)) names.push('missing_api_key', 'invalid_api_key', 'unreadable_header', 'headers_too_large');
  if (route.caller === 'key') names.push('revoked_api_key', 'expired_api_key', 'different_keys');
  if (isLink(route.path))
    names.push('assistant_not_found', 'site_not_permitted', 'unreadable_header', 'headers_too_large');
  if (route.caller === 'visitor') names.push('invalid_token');
  if (route.caller !== 'anyone') names.push('rate_limited');
  if (route.method !== 'GET' && !route.takesBytes)
    names.push('body_too_large', 'body_timeout', 'malformed_json', 'not_an_object');
  if (route.method !== 'GET' && isConsole(route)) names.push('content_type');
  if (route.body !== null && !route.takesBytes) names.push('missing_field');
  if ((route.body !== null || route.caller === 'key') && !route.takesBytes) names.push('invalid_field');
  if (route.caller === 'operator') names.push('invalid_field', 'role_not_permitted');
  if (isByHeader(route) || isLink(route.path) || route.newWork) names.push('service_unavailable');
  return new Set([...names, ...route.errors, 'api_error']);
}

function failures(route: Route, components: Components): Json {
  const known = byStatus(route, refusals(route), components);
  if (isSocket(route)) return { ...known, default: anyFailure('Any other failure has the shape of all.', components) };
  return route.caller === 'anyone'
    ? {
        ...known,
        '4XX': anyFailure('No refusal of this path is known; any would have the shape of all failures.', components),
      }
    : known;
}

function byStatus(route: Route, names: Iterable<ErrorName>, components: Components): Json {
  const grouped = new Map<number, ErrorName[]>();
  const statusOf = isOpenai(route.path)
    ? (name: ErrorName) => openaiStatus(errors[name].status)
    : (name: ErrorName) => errors[name].status;
  for (const name of names) grouped.set(statusOf(name), [...(grouped.get(statusOf(name)) ?? []), name]);
  return Object.fromEntries([...grouped].map(([status, alike]) => [status, failure(route, status, alike, components)]));
}

/** Paths without authentication refuse no caller; a proxy before the server may. */
const anyFailure = (description: string, components: Components): Json => ({
  description,
  headers: referTo(['X-Request-Id']),
  content: { 'application/json': { schema: components.reference(wire.ErrorView) } },
});

function failure(route: Route, status: number, names: readonly ErrorName[], components: Components): Json {
  const sent = ['X-Request-Id'];
  if (status === 401) sent.push('WWW-Authenticate');
  // A 400 from the authentication comes before the budgets, one from the body or the handler after them.
  else if (
    route.caller === 'key' &&
    (status !== 400 || route.method !== 'GET' || route.errors.includes('unreadable_header'))
  )
    sent.push(...rateHeaders);
  else if (route.caller === 'operator') sent.push(...cookieHeaders);
  if (status === 429 || status === 503) sent.push('Retry-After');
  if (isOpenai(route.path))
    sent.push(...openaiHeaders, ...(route.success.headers ?? []).filter((name) => name.endsWith('-Id')));
  const codes = [...new Set(names.map((name) => `\`${errors[name].code}\``))].join(', ');
  return {
    description: codes,
    headers: referTo(sent),
    content: {
      'application/json': {
        schema: components.reference(isOpenai(route.path) ? wire.OpenaiErrorView : wire.ErrorView),
        examples: Object.fromEntries(
          names.map((name) => [name, { value: isOpenai(route.path) ? openaiExample(name) : example(name) }]),
        ),
      },
    },
  };
}

const samples: Record<string, string> = { field: 'visitor.email', seconds: '7' };
const headerSamples: Record<string, string> = { ...samples, field: 'Authorization' };

/** The bounds that the sentences mention. */
const bounds: Partial<Record<ErrorName, number>> = {
  headers_too_large: limits.headersCountMax,
  body_too_large: limits.bodyBytesMax,
  message_too_long: limits.messageCharactersMax,
  text_too_long: limits.speechCharactersMax,
  invalid_range: limits.usageDaysMax,
};

const exampleId = 'req_1jyz8w4m7q0123456789abcdef';

/** The failure in the shape of OpenAI's API (contract 14). */
function openaiExample(name: ErrorName): Json {
  const { message } = example(name).error as { message: string };
  return JSON.parse(openaiFailureText({ ...refused(name, { field: samples.field! }), message }, exampleId)) as Json;
}

function example(name: ErrorName): Json {
  const { type, code, message } = errors[name];
  const blanks = name === 'unreadable_header' ? headerSamples : samples;
  return {
    error: {
      type,
      code,
      message: message.replace(/\{(\w+)\}/g, (_, blank: string) =>
        blank === 'limit' ? String(bounds[name]) : (blanks[blank] ?? blank),
      ),
    },
    request_id: exampleId,
  };
}
