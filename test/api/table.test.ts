/** The table of errors, the OpenAPI document and the README say the same, and what the specification and the contract say. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { errors, type ErrorRow } from '../../src/errors.ts';
import { openapiDocument } from '../../src/openapi.ts';
import { documented } from '../../src/routes.ts';

const rows: [string, ErrorRow][] = Object.entries(errors);
const sorted = (lines: Iterable<string>): string[] => [...new Set(lines)].sort();
const line = ({ code, status, type }: Pick<ErrorRow, 'code' | 'status' | 'type'>): string => `${code} ${status} ${type}`;

/** Code, status and type, from the specification's part 7 and the contract's part 2. */
const stated = `
missing_api_key 401 authentication_error
invalid_api_key 401 authentication_error
revoked_api_key 401 authentication_error
expired_api_key 401 authentication_error
invalid_token 401 authentication_error
assistant_not_permitted 403 permission_error
route_not_found 404 not_found
assistant_not_found 404 not_found
session_not_found 404 not_found
turn_not_found 404 not_found
assistant_not_published 409 conflict
assistant_disabled 409 conflict
session_ended 409 conflict
session_expired 409 conflict
turn_in_progress 409 conflict
voice_disabled 409 conflict
invalid_request 400 invalid_request
invalid_request 422 invalid_request
missing_visitor_fields 422 invalid_request
message_too_long 422 invalid_request
text_too_long 422 invalid_request
invalid_range 422 invalid_request
assistant_unavailable 503 service_unavailable
voice_unavailable 503 service_unavailable
api_error 500 api_error
api_error 503 service_unavailable
rate_limited 429 rate_limit_error
`.trim().split('\n');

t.test('the table is what the specification and the contract state, no more and no less', async (t) => {
  t.same(sorted(rows.map(([, row]) => line(row))), sorted(stated));
});

t.test('a client repeats what the specification lets it repeat, and nothing else', async (t) => {
  const repeated = rows.filter(([, { retry }]) => retry !== 'never').map(([, { code, status, retry }]) => `${code} ${status} ${retry}`);
  t.same(sorted(repeated), ['api_error 500 backoff_thrice', 'api_error 503 backoff', 'rate_limited 429 after']);
});

t.test('messages are fixed sentences with at most one blank to fill in', async (t) => {
  for (const [name, { message }] of rows) {
    t.match(message, /^[A-Z][^{}]*(\{(field|seconds|limit)\}[^{}]*)?\.$/, name);
    t.notMatch(message, /scripted|openai|anthropic|synthetic|lmdb|redis|xstate/i, `${name} names nothing of the inside`);
  }
  t.equal(errors.rate_limited.message, 'Rate limit exceeded. Retry in {seconds} seconds.');
});

interface Example {
  readonly name: string;
  readonly status: string;
  readonly error: { readonly type: string; readonly code: string; readonly message: string };
}

function examples(): Example[] {
  const document = openapiDocument(documented) as { paths: Record<string, Record<string, { responses: Record<string, any> }>> };
  return Object.values(document.paths)
    .flatMap((path) => Object.values(path))
    .flatMap(({ responses }) => Object.entries(responses))
    .filter(([status]) => Number(status) >= 400)
    .flatMap(([status, response]) =>
      Object.entries<any>(response.content?.['application/json']?.examples ?? {}).map(([name, { value }]) => ({ name, status, error: value.error })),
    );
}

t.test('the OpenAPI document has the same rows', async (t) => {
  const documented = examples();
  t.same(sorted(documented.map(({ name }) => name)), sorted(rows.map(([name]) => name)));
  const wrong = documented.filter(({ name, status, error }) => {
    const row: ErrorRow = errors[name as keyof typeof errors];
    const sentence = new RegExp(`^${row.message.replace(/[.`]/g, '\\$&').replace(/\{\w+\}/, '.+')}$`);
    return line(row) !== line({ ...error, status: Number(status) }) || !sentence.test(error.message);
  });
  t.same(wrong, []);
});

const readme = fileURLToPath(new URL('../../README.md', import.meta.url));

/** How the README says it. */
const retries: Readonly<Record<ErrorRow['retry'], RegExp>> = {
  never: /^no$/,
  after: /Retry-After/,
  backoff: /^with backoff$/,
  backoff_thrice: /backoff.*three/,
};

t.test('the README has the same table', { skip: existsSync(readme) ? false : 'there is no README' }, async (t) => {
  const [, section = ''] = readFileSync(readme, 'utf8').split(/^## Errors$/m);
  const cells = section
    .split(/^## /m)[0]!
    .split('\n')
    .filter((text) => /^\|.*\|$/.test(text))
    .map((text) => text.slice(1, -1).split('|').map((cell) => cell.trim().replaceAll('`', '')));
  const [head = [], rule = [], ...table] = cells;
  t.same(head.map((name) => name.toLowerCase()), ['code', 'status', 'type', 'retry']);
  t.ok(rule.length > 0 && rule.every((cell) => /^:?-+:?$/.test(cell)), 'a Markdown table');
  t.same(sorted(table.map(([code, status, type]) => `${code} ${status} ${type}`)), sorted(rows.map(([, row]) => line(row))));
  t.equal(new Set(table.map((row) => row.join(' '))).size, table.length, 'each row once');
  for (const [code, status, , retry = ''] of table) {
    const row = rows.find(([, one]) => one.code === code && String(one.status) === status)?.[1];
    t.match(retry, retries[row?.retry ?? 'never'], `${code} ${status}`);
  }
});
