/** The table of errors, the OpenAPI document and docs/errors.md agree with each other and with the contract. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { errors, type ErrorRow } from '../../src/base/errors.ts';
import { openapiDocument } from '../../src/http/reference/openapi.ts';
import { documented } from '../../src/http/routes.ts';

const rows: [string, ErrorRow][] = Object.entries(errors);
const sorted = (lines: Iterable<string>): string[] => [...new Set(lines)].sort();
const line = ({ code, status, type }: Pick<ErrorRow, 'code' | 'status' | 'type'>): string =>
  `${code} ${status} ${type}`;

/** Rows of a table of contract 2, by the heading of its first column. */
const rowsOf = (heading: string): string[][] => {
  const [, part = ''] = readFileSync(new URL('../../docs/contract.md', import.meta.url), 'utf8').split(
    /^## (?:2|3)\. .*$/m,
  );
  const table = part.split('\n\n').find((text) => text.trim().startsWith(`| ${heading} |`)) ?? '';
  return table
    .trim()
    .split('\n')
    .slice(2)
    .map((row) =>
      row
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
};

const codesIn = (cell: string): string[] => [...cell.matchAll(/`(\w+)`/g)].map(([, code]) => code!);

/** Code, status and type, from contract 2. */
const typeOf = new Map(rowsOf('status').map(([status, type]) => [status!, codesIn(type!)[0]!]));
const stated = rowsOf('code').flatMap(([codes, statuses]) =>
  codesIn(codes!).flatMap((code) => statuses!.split(', ').map((status) => `${code} ${status} ${typeOf.get(status)}`)),
);

t.test('the table is what the contract states, no more and no less', async (t) => {
  t.same(sorted(rows.map(([, row]) => line(row))), sorted(stated));
});

t.test('a client repeats what the contract lets it repeat, and nothing else', async (t) => {
  const repeated = rows
    .filter(([, { retry }]) => retry !== 'never')
    .map(([, { code, status, retry }]) => `${code} ${status} ${retry}`);
  t.same(sorted(repeated), ['api_error 500 backoff_thrice', 'api_error 503 backoff', 'rate_limited 429 after']);
});

t.test('messages are fixed sentences with at most one blank to fill in', async (t) => {
  for (const [name, { message }] of rows) {
    t.match(message, /^[A-Z][^{}]*(\{(field|seconds|limit)\}[^{}]*)?\.$/, name);
    t.notMatch(
      message,
      /scripted|openai|anthropic|synthetic|lmdb|redis|xstate/i,
      `${name} names nothing of the inside`,
    );
  }
  t.equal(errors.rate_limited.message, 'Rate limit exceeded. Retry in {seconds} seconds.');
});

interface Example {
  readonly name: string;
  readonly status: string;
  readonly error: { readonly type: string; readonly code: string; readonly message: string };
}

function examples(): Example[] {
  const document = openapiDocument(documented) as {
    paths: Record<string, Record<string, { responses: Record<string, any> }>>;
  };
  // Failures under /v1/ have another shape, of the same rows.
  return Object.entries(document.paths)
    .filter(([path]) => !path.startsWith('/v1/'))
    .flatMap(([, path]) => Object.values(path))
    .flatMap(({ responses }) => Object.entries(responses))
    .filter(([status]) => Number(status) >= 400)
    .flatMap(([status, response]) =>
      Object.entries<any>(response.content?.['application/json']?.examples ?? {}).map(([name, { value }]) => ({
        name,
        status,
        error: value.error,
      })),
    );
}

/** Rows with which OpenAI's API alone answers. */
const ofOpenai = ['model_not_found', 'text_only', 'not_supported'];

t.test('the OpenAPI document has the same rows', async (t) => {
  const documented = examples();
  t.same(
    sorted(documented.map(({ name }) => name)),
    sorted(rows.map(([name]) => name).filter((name) => !ofOpenai.includes(name))),
  );
  const wrong = documented.filter(({ name, status, error }) => {
    const row: ErrorRow = errors[name as keyof typeof errors];
    const sentence = new RegExp(`^${row.message.replace(/[.`]/g, '\\$&').replace(/\{\w+\}/, '.+')}$`);
    return (
      line(row) !== line({ ...error, status: Number(status) }) ||
      !sentence.test(error.message) ||
      error.message.includes('undefined')
    );
  });
  t.same(wrong, []);
});

/** The words of docs/errors.md. */
const retries: Readonly<Record<ErrorRow['retry'], string>> = {
  never: 'no',
  after: 'after `Retry-After`',
  backoff: 'with backoff',
  backoff_thrice: 'with backoff, three attempts',
};

t.test('docs/errors.md has the same rows, with their messages', async (t) => {
  const cells = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8')
    .split('\n')
    .filter((text) => /^\|.*\|$/.test(text))
    .map((text) =>
      text
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );
  const [head = [], rule = [], ...table] = cells;
  t.same(head, ['code', 'status', 'type', 'retry', 'message']);
  t.ok(rule.length === head.length && rule.every((cell) => /^:?-+:?$/.test(cell)), 'a Markdown table');
  const wanted = rows.map(([, { code, status, type, retry, message }]) => [
    `\`${code}\``,
    String(status),
    `\`${type}\``,
    retries[retry],
    message,
  ]);
  t.same(table.map((row) => row.join(' | ')).sort(), wanted.map((row) => row.join(' | ')).sort());
});
