/** The OpenAPI document: clean under redocly, and of the same paths as the contract and the server. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import t from 'tap';
import { temporaryFolder } from '../folders.ts';
import { openHouse } from './house.ts';

/** Parts 6 and 9 of the contract, and the page of the reference. */
const stated = `
GET /assistants
GET /assistants/{id}
POST /sessions
GET /sessions
GET /sessions/{id}
POST /sessions/{id}/end
POST /sessions/{id}/ask
POST /sessions/{id}/chat
POST /sessions/{id}/turns/{turn_id}/abort
PUT /sessions/{id}/turns/{turn_id}/feedback
DELETE /sessions/{id}/turns/{turn_id}/feedback
GET /sessions/{id}/turns/{turn_id}/events
GET /sessions/{id}/events
GET /sessions/{id}/transcript
GET /usage
GET /voices
POST /speech
POST /transcription-tokens
POST /call-tokens
GET /v1/models
GET /v1/models/{id}
POST /v1/chat/completions
POST /v1/responses
GET /v1/responses/{id}
DELETE /v1/responses/{id}
POST /v1/audio/speech
POST /mcp
GET /transcription
GET /call
GET /v1/realtime
GET /openapi.json
GET /asyncapi.json
GET /docs
GET /healthz
GET /readyz
GET /metrics
GET /p/{slug}/about
POST /p/{slug}/visitors
POST /p/{slug}/sessions
GET /p/{slug}/sessions/{id}
GET /p/{slug}/sessions/{id}/transcript
POST /p/{slug}/sessions/{id}/end
POST /p/{slug}/sessions/{id}/ask
POST /p/{slug}/sessions/{id}/chat
POST /p/{slug}/sessions/{id}/turns/{turn_id}/abort
PUT /p/{slug}/sessions/{id}/turns/{turn_id}/feedback
DELETE /p/{slug}/sessions/{id}/turns/{turn_id}/feedback
GET /p/{slug}/sessions/{id}/turns/{turn_id}/events
GET /p/{slug}/sessions/{id}/events
POST /p/{slug}/transcription-tokens
POST /p/{slug}/call-tokens
POST /p/{slug}/speech
POST /console/api/workspaces/{w}/assistants/{id}/preview
GET /console/api/workspaces/{w}/assistants/{id}/versions
GET /console/api/workspaces/{w}/assistants/{id}/versions/{n}
GET /console/api/workspaces/{w}/assistants/{id}/versions/{n}/changes
POST /console/api/workspaces/{w}/assistants/{id}/versions/{n}/restore
POST /console/api/workspaces/{w}/assistants/{id}/rollback
POST /console/api/workspaces/{w}/assistants/{id}/rollout
POST /console/api/workspaces/{w}/assistants/{id}/rollout/promote
POST /console/api/workspaces/{w}/assistants/{id}/rollout/end
POST /console/api/workspaces/{w}/assistants/{id}/recall
GET /console/api/workspaces/{w}/assistants/{id}/tests
POST /console/api/workspaces/{w}/assistants/{id}/tests
GET /console/api/workspaces/{w}/assistants/{id}/tests/{test_id}
PATCH /console/api/workspaces/{w}/assistants/{id}/tests/{test_id}
DELETE /console/api/workspaces/{w}/assistants/{id}/tests/{test_id}
GET /console/api/workspaces/{w}/assistants/{id}/test-runs
POST /console/api/workspaces/{w}/assistants/{id}/test-runs
GET /console/api/workspaces/{w}/assistants/{id}/test-runs/{run_id}
DELETE /console/api/workspaces/{w}/assistants/{id}/test-runs/{run_id}
GET /console/api/workspaces/{w}/assistants/{id}/link
POST /console/api/workspaces/{w}/assistants/{id}/link/identity
DELETE /console/api/workspaces/{w}/assistants/{id}/link/identity
POST /console/api/sign-in
POST /console/api/sign-out
GET /console/api/me
GET /console/api/sign-ins
DELETE /console/api/sign-ins/{id}
POST /console/api/sign-in-links
GET /console/api/people
PATCH /console/api/people/{id}
GET /console/api/audit
GET /console/api/workspaces
POST /console/api/workspaces
GET /console/api/workspaces/{w}
PATCH /console/api/workspaces/{w}
DELETE /console/api/workspaces/{w}
GET /console/api/workspaces/{w}/assistants
POST /console/api/workspaces/{w}/assistants
GET /console/api/workspaces/{w}/assistants/{id}
PATCH /console/api/workspaces/{w}/assistants/{id}
DELETE /console/api/workspaces/{w}/assistants/{id}
POST /console/api/workspaces/{w}/assistants/{id}/publish
POST /console/api/workspaces/{w}/assistants/{id}/unpublish
POST /console/api/workspaces/{w}/assistants/{id}/disable
POST /console/api/workspaces/{w}/assistants/{id}/enable
GET /console/api/workspaces/{w}/keys
POST /console/api/workspaces/{w}/keys
GET /console/api/workspaces/{w}/keys/{id}
PATCH /console/api/workspaces/{w}/keys/{id}
POST /console/api/workspaces/{w}/keys/{id}/revoke
POST /console/api/workspaces/{w}/keys/{id}/rotate
GET /console/api/workspaces/{w}/credentials
POST /console/api/workspaces/{w}/credentials
PATCH /console/api/workspaces/{w}/credentials/{id}
DELETE /console/api/workspaces/{w}/credentials/{id}
POST /console/api/workspaces/{w}/credentials/{id}/test
GET /console/api/workspaces/{w}/tools
POST /console/api/workspaces/{w}/tools
GET /console/api/workspaces/{w}/tools/{id}
PATCH /console/api/workspaces/{w}/tools/{id}
DELETE /console/api/workspaces/{w}/tools/{id}
POST /console/api/workspaces/{w}/tools/{id}/refresh
POST /console/api/workspaces/{w}/tools/{id}/rotate-secret
POST /console/api/workspaces/{w}/tools/{id}/test
GET /console/api/workspaces/{w}/webhooks
POST /console/api/workspaces/{w}/webhooks
GET /console/api/workspaces/{w}/webhooks/{id}
PATCH /console/api/workspaces/{w}/webhooks/{id}
DELETE /console/api/workspaces/{w}/webhooks/{id}
GET /console/api/workspaces/{w}/webhooks/{id}/deliveries
POST /console/api/workspaces/{w}/webhooks/{id}/deliveries/{delivery_id}/retry
GET /console/api/workspaces/{w}/sessions/{id}/turns/{turn_id}/steps
GET /console/api/workspaces/{w}/sessions
GET /console/api/workspaces/{w}/sessions/{id}
GET /console/api/workspaces/{w}/sessions/{id}/transcript
POST /console/api/workspaces/{w}/assistants/{id}/trials
POST /console/api/workspaces/{w}/sessions/{id}/call-tokens
POST /console/api/workspaces/{w}/sessions/{id}/chat
POST /console/api/workspaces/{w}/sessions/{id}/end
DELETE /console/api/workspaces/{w}/sessions/{id}
DELETE /console/api/workspaces/{w}/visitors/{visitor_id}
POST /console/api/workspaces/{w}/sessions/{id}/turns/{turn_id}/abort
GET /console/api/workspaces/{w}/sessions/{id}/turns/{turn_id}
GET /console/api/workspaces/{w}/sessions/{id}/turns/{turn_id}/events
GET /console/api/workspaces/{w}/desk
POST /console/api/workspaces/{w}/sessions/{id}/take
POST /console/api/workspaces/{w}/sessions/{id}/messages
POST /console/api/workspaces/{w}/sessions/{id}/return
POST /console/api/workspaces/{w}/sessions/{id}/release
GET /console/api/workspaces/{w}/sessions/{id}/events
GET /console/api/workspaces/{w}/usage
GET /console/api/workspaces/{w}/sessions/{id}/history
GET /console/api/workspaces/{w}/sessions/{id}/turns/{turn_id}/history
GET /console/api/workspaces/{w}/keys/{id}/history
GET /console/api/workspaces/{w}/assistants/{id}/history
GET /console/api/inspect
GET /console/api/load
GET /console/api/machines
GET /console/api/machines/{kind}
`
  .trim()
  .split('\n');

t.test('the document states every route', async (t) => {
  const house = await openHouse(t);
  const { status, headers, text, json } = await house.ask('/openapi.json', { key: null });
  t.same([status, headers.get('content-type'), json.openapi], [200, 'application/json; charset=utf-8', '3.1.0']);

  await t.test('has the paths of the contract', async (t) => {
    const documented = Object.entries<object>(json.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    t.same(documented.sort(), [...stated].sort());
  });

  await t.test('is clean under redocly', async (t) => {
    const folder = await temporaryFolder(t);
    await writeFile(join(folder, 'openapi.json'), text);
    const found = await lint(folder);
    t.same(found.problems, []);
    t.same(found.totals, { errors: 0, warnings: 0, ignored: 0 });
  });

  await t.test('redocly is one that finds faults', async (t) => {
    const folder = await temporaryFolder(t);
    await writeFile(join(folder, 'openapi.json'), JSON.stringify({ ...json, components: {} }));
    t.ok((await lint(folder)).totals.errors > 0);
  });

  await t.test('says which parameters of a query are required, and every type of audio with its rate', async (t) => {
    const operations = Object.entries<any>(json.paths).flatMap(([path, methods]) =>
      Object.values<any>(methods).map(({ parameters }) => ({ path, parameters })),
    );
    const required = operations.flatMap(({ path, parameters }) =>
      parameters.filter((one: any) => one.in === 'query' && one.required).map(({ name }: any) => `${path} ${name}`),
    );
    t.same(required, ['/voices assistant_id', '/v1/realtime model']);
    const { content, headers } = json.paths['/speech'].post.responses[200];
    t.same(Object.keys(content), ['audio/wav', 'audio/pcm', 'audio/mpeg', 'audio/ogg']);
    t.ok('X-Audio-Sample-Rate' in headers);
  });

  await t.test(
    'answers say that they are replayed where an Idempotency-Key may be sent, and nowhere else',
    async (t) => {
      const operations = Object.values<any>(json.paths).flatMap((path) => Object.values<any>(path));
      const takes = operations.filter(({ parameters }) =>
        parameters.some(({ name }: any) => name === 'Idempotency-Key'),
      );
      const replays = operations.filter(({ responses }) =>
        Object.values<any>(responses).some(({ headers }) => headers !== undefined && 'Idempotent-Replayed' in headers),
      );
      const named = (some: readonly any[]): string[] => some.map(({ operationId }) => operationId);
      t.ok(takes.length > 0);
      t.same(named(replays), named(takes));
    },
  );

  await t.test('tells of no setting of an assistant to those with a key', async (t) => {
    t.notOk(
      ['model', 'voice', 'link', 'system_prompt', 'provider', 'credential_id'].some(
        (name) => name in json.components.schemas.Assistant.properties,
      ),
    );
  });

  await t.test('examples of failures tell the bounds that are kept', async (t) => {
    const said = new Set(JSON.stringify(json).match(/(?:larger|longer|more|most|than) (?:than )?\d+ [a-z]+/g));
    t.ok(said.has('larger than 262144 bytes'), [...said].join());
    t.ok(said.has('most 90 days'));
    t.notMatch(JSON.stringify(json), /undefined|8000 bytes|8000 days/);
  });

  await t.test('every operation has a name of its own, a summary and its security', async (t) => {
    const operations = Object.values<any>(json.paths).flatMap((path) => Object.values<any>(path));
    t.equal(new Set(operations.map(({ operationId }) => operationId)).size, operations.length);
    t.same(
      operations.filter(({ summary }) => !/^[A-Z].+\.$/.test(summary)),
      [],
    );
    const open = ({ tags, operationId }: any): boolean =>
      tags[0] === 'Health, metrics and reference' || operationId === 'post_console_api_sign_in';
    t.same(
      operations.filter((one) => open(one) !== (one.security.length === 0)),
      [],
    );
  });
});

/** The checks of Spectral's `oas` rules beyond redocly's; the linter itself is 156 packages. */
t.test('the document has what Spectral asks for', async (t) => {
  const house = await openHouse(t);
  const { info, servers, tags, paths, components } = (await house.ask('/openapi.json', { key: null })).json;
  t.ok(info.description && info.contact.name && info.license.name && servers[0].url);
  t.same(
    tags.filter(({ description }: any) => !description),
    [],
  );
  const known = new Set(tags.map(({ name }: any) => name));
  t.equal(known.size, tags.length);
  for (const [path, methods] of Object.entries<any>(paths)) {
    for (const [method, { description, tags: own, parameters, responses }] of Object.entries<any>(methods)) {
      const name = `${method} ${path}`;
      t.match(description, /^[A-Z][^]+[.`]$/, `${name} has a description`);
      t.same([own.length, known.has(own[0])], [1, true], `${name} is of one area`);
      t.same(
        parameters.filter((one: any) => !one.description).map((one: any) => one.name),
        [],
        `${name} says what its parameters are`,
      );
      t.ok(
        Object.keys(responses).some((status) => /^[23](?:\d\d|XX)$/.test(status)),
        `${name} can succeed`,
      );
      t.same(
        Object.values<any>(responses).filter((one) => !one.description),
        [],
        `${name} says what its answers are`,
      );
    }
  }
  const used = new Set(JSON.stringify({ paths, components }).match(/(?<="#\/components\/)[^"]+/g));
  for (const kind of ['schemas', 'headers'])
    t.same(
      Object.keys(components[kind]).filter((name) => !used.has(`${kind}/${name}`)),
      [],
      `every one of ${kind} is used`,
    );
});

interface Lint {
  readonly totals: { readonly errors: number; readonly warnings: number; readonly ignored: number };
  readonly problems: readonly unknown[];
}

/** Runs redocly's recommended rules on the folder's `openapi.json`. */
function lint(folder: string): Promise<Lint> {
  const command = join(dirname(createRequire(import.meta.url).resolve('@redocly/cli/package.json')), 'bin', 'cli.js');
  const env = {
    PATH: process.env['PATH'],
    HOME: folder,
    REDOCLY_TELEMETRY: 'off',
    REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
  };
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [command, 'lint', 'openapi.json', '--format=json'],
      { cwd: folder, env },
      (error, stdout) => {
        if (stdout === '') reject(error);
        else resolve(JSON.parse(stdout));
      },
    );
  });
}
