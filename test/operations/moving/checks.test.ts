/** Rows of an import: each is held to what the API would take, and a file with one that is not is refused whole. */
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import t from 'tap';
import { WheelClock } from '../../../src/base/clock.ts';
import { DumpRefused, exportTo, importFrom } from '../../../src/operations/moving.ts';
import { RowOrder, rowProblem } from '../../../src/operations/moving/checks.ts';
import { modelProviders } from '../../../src/providers/model.ts';
import { voiceProviders } from '../../../src/providers/voice.ts';
import { rowOf, RowProblem } from '../../../src/store/dump/text.ts';
import { houseAt } from '../../api/house.ts';
import { run } from '../../cli/support.ts';
import { temporaryFolder } from '../../folders.ts';
import { linked } from '../../pages/link/visits.ts';
import { startServer } from '../../process.ts';
import { createdMove } from '../../../src/actors/history.ts';
import { nobody } from '../../../src/actors/cause.ts';
import { assistant, ids, key, remembered, Scene, snapshot, toolCall, workspace } from '../../store/fixtures.ts';
import { live } from './life.ts';
import { inMemory, opened } from './places.ts';

const secret = 'a secret of thirty-two characters';
const hash = (lines: readonly string[]): string =>
  createHash('sha256')
    .update(lines.map((line) => `${line}\n`).join(''))
    .digest('hex');

/** The file with a closing line that fits its rows. */
function closed(lines: readonly string[]): string {
  const [header, ...rows] = lines.slice(0, -1) as [string, ...string[]];
  const counts: Record<string, number> = {};
  for (const row of rows) counts[JSON.parse(row).type] = (counts[JSON.parse(row).type] ?? 0) + 1;
  return [header, ...rows, JSON.stringify({ type: 'end', rows: counts, sha256: hash(rows) })]
    .map((line) => `${line}\n`)
    .join('');
}

/** The export of a store that has rows of every kind. */
async function exportedLines(folder: string): Promise<string[]> {
  const place = await inMemory(t);
  await opened(place, async (store) => {
    const scene = new Scene(store, Date.now());
    const own = workspace({ id: scene.workspaceId });
    await store.catalog.create('workspace', own);
    const voice = { provider: 'openai', name: null, voice: 'v', credentialId: null };
    const draft = assistant(own.id, {
      machine: snapshot('draft', { voice: false }),
      voice,
      alias: 'ada',
      toolIds: [],
      toolRoundsMax: 3,
    });
    await store.catalog.create('assistant', draft, createdMove(draft.machine, Date.now(), nobody));
    const bodyDigest = JSON.stringify({ sessionId: 'ses_1', model: 'm', stored: true, previous: null });
    const remember = remembered(ids.make('turn'), Date.now() + 60_000, { scope: 'responses', key: 'turn', bodyDigest });
    const link = { visitorId: ids.make('vis'), clock: { untilMs: 1, dayMs: 0, chargedMs: 1, movedBy: 'x' } };
    await store.sessions.create(
      scene.createStep({ session: scene.session({ keyId: key(own.id).id, link }), remember }),
    );
    await live(store, Date.now());
  });
  const source = place.source();
  await source.open();
  const path = join(folder, 'export.jsonl');
  await exportTo({
    source,
    secret,
    version: '1.2.3',
    clock: new WheelClock(),
    ids,
    out: path,
    onRows: () => {},
  });
  await source.close();
  return (await readFile(path, 'utf8')).trimEnd().split('\n');
}

const lines = await exportedLines(await temporaryFolder(t));

type Change = (row: any) => void;
/** The number of the first line, from 1, of a row that fits. */
function lineOf(type: string, fits: (row: any) => boolean = () => true): number {
  const rows = lines.map((line) => JSON.parse(line));
  return rows.findIndex((row, index) => index > 0 && row.type === type && fits(row)) + 1;
}

function changedAt(number: number, change: Change): string[] {
  const row = JSON.parse(lines[number - 1]!);
  change(row);
  return lines.with(number - 1, JSON.stringify(row));
}

const record =
  (field: string, value: unknown): Change =>
  (row) => {
    const names = field.split('.');
    const holder = names.slice(0, -1).reduce((found, name) => (found[name] ??= {}), row.record);
    holder[names.at(-1)!] = value;
  };

/** A change of an assistant whose texts have variables. */
const template =
  (change: Change): Change =>
  (row) => {
    change(row);
    row.record.hasVariables = true;
  };

/** A kind of row, its wrong fields with their values, and the field that the refusal names. */
const wrong: readonly (readonly [string, Change, string, ((row: any) => boolean)?])[] = [
  ['workspace', record('retentionDays', 0), 'retention_days'],
  ['workspace', record('turnsInFlightMax', 0), 'turns_in_flight_max'],
  ['workspace', record('name', ''), 'name'],
  ['workspace', record('createdAt', 1e15), 'createdAt'],
  ['workspace', record('id', 'wks_1'), 'record.id'],
  ['delivery', record('id', 'dlv_1'), 'record.id'],
  ['delivery', record('webhookId', 'elsewhere'), 'record.webhookId'],
  ['delivery', record('sessionId', 'elsewhere'), 'record.sessionId'],
  ['delivery', record('sourceId', 'elsewhere'), 'record.sourceId'],
  ['delivery', record('type', 'turn.began'), 'record.type'],
  ['delivery', record('status', 'sent'), 'record.status'],
  ['delivery', record('nextAtMs', 'soon'), 'record.nextAtMs'],
  ['audit', record('id', 'aud_1'), 'record.id'],
  ['audit', record('workspaceId', 'elsewhere'), 'record.workspaceId'],
  ['audit', record('inWorkspaceId', 'elsewhere'), 'record.inWorkspaceId'],
  ['audit', record('by.role', 'nobody'), 'record.by.role'],
  ['audit', record('changes', [{ path: 'name' }]), 'record.changes.0'],
  ['assistant', record('link.origins', ['not a url']), 'link.origins'],
  ['assistant', record('link.origins', ['https://a.example', 'javascript:alert(1)']), 'link.origins'],
  ['assistant', record('link.origins', ['https://a.example/path']), 'link.origins'],
  ['assistant', record('link.origins', Array(101).fill('*')), 'link.origins'],
  ['assistant', record('link.slug', 'Not A Slug'), 'link.slug'],
  ['assistant', record('link.slug', '../console'), 'link.slug'],
  ['assistant', record('link.limits', { minutes_per_day: -1 }), 'link.limits'],
  ['assistant', record('link.limits', { concurrent_visitors: 1e12 }), 'link.limits'],
  ['assistant', record('name', 'x'.repeat(201)), 'name'],
  ['assistant', record('name', 'a\ud800'), 'name'],
  ['assistant', record('greeting', 'x'.repeat(8001)), 'greeting'],
  ['assistant', template(record('greeting', 'Hello {{nobody}}')), 'greeting'],
  ['assistant', template(record('model.systemPrompt', '{{metadata.plan}}')), 'model.system_prompt'],
  ['assistant', record('alias', 'With Spaces'), 'alias'],
  ['assistant', record('maxCallSeconds', 0), 'max_call_seconds'],
  ['assistant', record('visitorFields', [{ name: '9 x', label: 'x', type: 'text', required: true }]), 'visitor_fields'],
  [
    'assistant',
    record('visitorFields', Array(2).fill({ name: 'x', label: 'x', type: 'text', required: true })),
    'visitor_fields',
  ],
  ['assistant', record('model.provider', 'nonsense'), 'model.provider'],
  ['assistant', record('model.temperature', 9), 'model.temperature'],
  ['assistant', record('model.outputTokensMax', 0), 'model.output_tokens_max'],
  ['assistant', record('model.historyTokensMax', 0), 'model.history_tokens_max'],
  [
    'assistant',
    record('voice', { provider: 'nonsense', name: null, voice: null, credentialId: null }),
    'voice.provider',
  ],
  [
    'assistant',
    record('voice', { provider: 'openai', name: null, transcriptionName: 5, voice: null, credentialId: null }),
    'voice',
  ],
  ['assistant', record('toolIds', Array(17).fill('tool_1')), 'tool_ids'],
  ['assistant', record('toolRoundsMax', 0), 'tool_rounds_max'],
  ['assistant', record('machine.state', 'nonsense'), 'machine'],
  ['assistant', record('machine.version', 99), 'machine'],
  ['assistant', record('machine.context', null), 'machine'],
  ['assistant', record('machine.context', { voice: 'loud' }), 'machine'],
  ['assistant', record('machine.state', '__proto__'), 'machine'],
  ['credential', record('baseUrl', 'ftp://example.com'), 'base_url'],
  ['credential', record('baseUrl', 'http://169.254.169.254/latest'), 'base_url'],
  ['credential', record('baseUrl', 'https://example.com/v1/chat/completions'), 'base_url'],
  ['credential', record('provider', 'nonsense'), 'provider'],
  ['credential', record('header', 'Host'), 'header'],
  [
    'credential',
    (row) =>
      Object.assign(row.record, {
        kind: 'tool',
        provider: 'tool',
        baseUrl: 'https://a.example',
        header: 'Content-Length',
      }),
    'header',
  ],
  ['credential', (row) => Object.assign(row.record, { kind: 'tool', provider: 'tool', baseUrl: null }), 'base_url'],
  ['tool', record('url', 'https://[::ffff:169.254.169.254]/'), 'url'],
  ['tool', record('url', null), 'url'],
  ['tool', record('kind', 'client'), 'url'],
  ['tool', record('timeoutSeconds', 0), 'timeout_seconds'],
  ['tool', record('timeoutSeconds', 121), 'timeout_seconds'],
  ['tool', record('callsPerMinute', 0), 'calls_per_minute'],
  ['tool', record('sealed', null), 'sealed'],
  ['tool', (row) => void (row.record.functions[0].name = 'not a name'), 'functions'],
  ['tool', (row) => void row.record.functions.push(row.record.functions[0]), 'functions'],
  ['tool', (row) => void (row.record.functions[0].parameters = { type: 'array' }), 'functions\\[0\\].parameters'],
  [
    'tool',
    (row) => void (row.record.functions[0].parameters = { type: 'object', $ref: 'https://a.example/schema' }),
    'functions\\[0\\].parameters',
  ],
  ['webhook', record('url', 'https://169.254.169.254/'), 'url'],
  ['webhook', record('url', null), 'url'],
  ['webhook', record('events', []), 'events'],
  ['webhook', record('events', ['turn.failed', 'turn.failed']), 'events'],
  ['webhook', record('events', ['turn.began']), 'events'],
  ['webhook', record('sealed', null), 'sealed'],
  ['webhook', record('id', 'whk_1'), 'record.id'],
  ['assistant_test', record('repeat', 11), 'repeat'],
  ['assistant_test', record('steps', []), 'steps'],
  ['assistant_test', record('id', 'tst_1'), 'record.id'],
  ['key', record('limits.requests', 0), 'limits.requests'],
  ['key', record('limits.speech', 1e9), 'limits.speech'],
  ['key', record('digest', 'AAAA'), 'digest'],
  ['key', record('publicId', 'x'.repeat(26)), 'publicId'],
  ['key', record('assistantIds', ['']), 'assistant_ids'],
  ['key', record('expiresAt', 1e15), 'expiresAt'],
  ['key', record('machine.state', 'open'), 'machine'],
  ['key', record('machine.context', { expiresAt: 'never', revokedAt: null, debt: null }), 'machine'],
  ['key', (row) => void (row.budgets = { requests: { level: -1e15, at: 1 } }), 'budgets.requests.level'],
  ['key', (row) => void (row.usedAt = 'yesterday'), 'usedAt'],
  [
    'session',
    record('visitor', Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`f${index}`, 'x']))),
    'visitor',
  ],
  ['session', record('metadata', { plan: 'x'.repeat(513) }), 'metadata'],
  ['session', record('maxCallSeconds', 0), 'maxCallSeconds'],
  ['session', (row) => void (row.record.expiresAt = row.record.machine.context.expiresAt = 1), 'expiresAt'],
  ['session', record('machine.state', 'nonsense'), 'machine'],
  ['session', record('machine.context', { expiresAt: 1, endedAt: null, activeTurnId: 5 }), 'machine'],
  [
    'session',
    (row) => void (row.record.machine.context.activeTurnId = ids.make('turn')),
    'machine',
    (row) => row.record.machine.state === 'open',
  ],
  [
    'session',
    (row) => void (row.record.machine.context.activeTurnId = null),
    'machine',
    (row) => row.record.machine.state === 'streaming',
  ],
  [
    'session',
    (row) => void (row.record.machine.context.endedAt = null),
    'machine',
    (row) => row.record.machine.state === 'ended',
  ],
  ['session', record('link', { visitorId: 'anybody', clock: null }), 'visitorId'],
  ['session', record('assistantId', '*'), 'assistantId'],
  ['session', record('channel', 'phone'), 'channel'],
  ['session', record('call', { id: 5, untilMs: 1 }), 'call'],
  [
    'session',
    record('pending', { index: 0, calls: [{ id: ids.make('call'), name: 'x', wants: 'approval' }] }),
    'pending',
  ],
  ['session', record('workspaceId', ids.make('wks')), 'does not follow its workspace'],
  ['history', (row) => void (row.moves[0].to = 'nonsense'), 'moves\\[0\\]'],
  ['history', (row) => void (row.moves[0].snapshot.context = {}), 'moves\\[0\\]'],
  ['history', (row) => void (row.id = ids.make('asst')), 'does not follow it'],
  ['message', record('errorCode', 'nonsense'), 'errorCode'],
  ['message', record('createdAt', 1e15), 'createdAt'],
  ['message', record('content', 'a\udfff'), 'content'],
  ['message', record('id', 'msg'), 'record.id'],
  ['message', record('status', 'streaming'), 'status', (row) => row.record.role === 'user'],
  ['message', record('toolCalls', [{ ...toolCall({ id: ids.make('call') }), status: 'nonsense' }]), 'toolCalls'],
  ['message', record('toolCalls', [{ ...toolCall({ id: ids.make('call') }), arguments: 'all' }]), 'toolCalls'],
  ['message', record('toolCalls', [{ ...toolCall({ id: ids.make('call') }), output: 5 }]), 'toolCalls'],
  ['message', record('toolCalls', [{ ...toolCall({ id: ids.make('call') }), opaque: { call: {} } }]), 'toolCalls'],
  [
    'message',
    record('toolCalls', [{ ...toolCall({ id: ids.make('call') }), opaque: { origin: 'o', round: 'signed' } }]),
    'toolCalls',
  ],
  ['message', (row) => void (row.sessionId = ids.make('ses')), 'does not follow its session'],
  ['message', (row) => void (row.index = 1e300), 'index'],
  ['turn', record('stopReason', 'aborted'), 'stopReason', (row) => row.record.status === 'completed'],
  ['turn', record('endedAt', null), 'endedAt', (row) => row.record.status === 'completed'],
  ['turn', record('inputTokens', 1e300), 'inputTokens'],
  ['turn', record('link', { before: null, taken: [] }), 'link'],
  ['turn', (row) => void (row.flight = null), 'flight', (row) => row.flight !== null],
  ['turn', (row) => void (row.finished = null), 'flight', (row) => row.finished !== null],
  [
    'memory',
    (row) => void (row.record.bodyDigest = '{"sessionId":5}'),
    'bodyDigest',
    (row) => row.record.scope === 'responses',
  ],
  [
    'memory',
    (row) => void (row.record.bodyDigest = 'no JSON'),
    'bodyDigest',
    (row) => row.record.scope === 'responses',
  ],
  ['memory', record('resultId', 'anything'), 'resultId'],
  ['usage', (row) => void (row.start += 1), 'start', (row) => row.grain === 'hour'],
  ['usage', (row) => void (row.assistantId = 'x'), 'assistantId'],
  ['usage', (row) => void (row.counts.turns = -1), 'turns'],
];

t.test('the untouched file is taken, as a file and from a pipe', async (t) => {
  const path = join(await temporaryFolder(t), 'whole.jsonl');
  await writeFile(path, closed(lines));
  for (const from of [path, Readable.from([Buffer.from(closed(lines))])]) {
    const { rows } = await importFrom({ target: (await inMemory(t)).target(), secret, from, onRows: () => {} });
    t.equal(rows, lines.length - 2);
  }
  const types = new Set(lines.slice(1, -1).map((line) => JSON.parse(line).type));
  t.equal(types.size, 16, [...types].join());
});

t.test('an import refuses a row that the API refuses, names its line and field, and stores no row', async (t) => {
  const path = join(await temporaryFolder(t), 'broken.jsonl');
  for (const [type, change, field, fits] of wrong) {
    const number = lineOf(type, fits);
    t.ok(number > 0, `there is a ${type} for ${field}`);
    const text = closed(changedAt(number, change));
    await writeFile(path, text);
    for (const from of [path, Readable.from([Buffer.from(text)])]) {
      const there = await inMemory(t);
      const message = new RegExp(`^Line ${number} cannot be imported: .*${field}`);
      await t.rejects(
        importFrom({ target: there.target(), secret, from, onRows: () => {} }),
        { message },
        `${type}: ${field}`,
      );
      const stored = await opened(there, (store) =>
        store.catalog.list('workspace', '', { limit: 1, after: null, order: 'asc' }),
      );
      t.same(stored.items, [], 'the store is empty');
    }
  }
});

t.test('rows in another place than their own are refused', async (t) => {
  const path = join(await temporaryFolder(t), 'order.jsonl');
  const own = lineOf('workspace');
  const files: [string, string[], RegExp][] = [
    ['a workspace twice', lines.toSpliced(own, 0, lines[own - 1]!), /the workspace wks_\w+ is in the file twice/],
    ['rows without their workspace', lines.toSpliced(own - 1, 1), /does not follow its workspace/],
    [
      'messages without their session',
      lines.toSpliced(lineOf('message') - 2, 1),
      /does not follow its session|does not follow it/,
    ],
  ];
  for (const [name, content, said] of files) {
    await writeFile(path, closed(content));
    await t.rejects(
      importFrom({ target: (await inMemory(t)).target(), secret, from: path, onRows: () => {} }),
      { message: said },
      name,
    );
  }
});

/** Values of other types, too large, too small, too deep, and names that mean something to JavaScript. */
const hostile: readonly unknown[] = [
  null,
  true,
  -1,
  0.5,
  1e300,
  '',
  'x'.repeat(100_000),
  '\ud800',
  '__proto__',
  [],
  {},
  [[[]]],
  JSON.parse('{"__proto__":{"a":1}}'),
  JSON.parse('['.repeat(2000) + ']'.repeat(2000)),
];

function* leavesOf(value: unknown, path: readonly string[] = []): Generator<readonly string[]> {
  if (path.length > 0) yield path;
  if (typeof value === 'object' && value !== null)
    for (const [name, item] of Object.entries(value)) yield* leavesOf(item, [...path, name]);
}

t.test('a row with any field replaced is taken or refused, and never a fault', async (t) => {
  const kinds = new Set(lines.slice(1, -1).map((line) => JSON.parse(line).type as string));
  let refused = 0;
  for (const kind of kinds) {
    const line = lines[lineOf(kind) - 1]!;
    for (const path of leavesOf(JSON.parse(line))) {
      for (const value of hostile) {
        const row = JSON.parse(line);
        const holder = path.slice(0, -1).reduce((found, name) => found[name], row);
        holder[path.at(-1)!] = value;
        try {
          if (rowProblem(rowOf(JSON.parse(JSON.stringify(row))), new RowOrder()) !== null) refused++;
        } catch (error) {
          if (!(error instanceof RowProblem)) t.fail(`${kind} ${path.join('.')}`, { error, value });
          refused++;
        }
      }
    }
  }
  t.ok(refused > 1000, `${refused} refused`);
  t.equal(DumpRefused.name, 'DumpRefused');
});

t.test('the names of providers that a row may have are those that a server can offer', async (t) => {
  const server = await startServer(t, { env: { PARLEY_STORE: 'memory:', PARLEY_SYNTHETIC: '1' } });
  const house = await houseAt(server);
  const statusOf = async (fields: object) =>
    (await house.console(`/workspaces/${house.workspaceId}/assistants`, { body: { name: 'x', ...fields } })).status;
  for (const provider of modelProviders)
    t.equal(await statusOf({ model: { provider, name: provider === 'synthetic' ? 'tokens=1' : 'm' } }), 201, provider);
  // `local` needs a folder.
  for (const provider of voiceProviders.filter((name) => name !== 'local'))
    t.equal(await statusOf({ voice: { provider } }), 201, provider);
  t.equal(await statusOf({ model: { provider: 'nonsense', name: 'm' } }), 422);
});

t.test('parley import refuses the export of a real server with one row changed, and takes it unchanged', async (t) => {
  const first = await startServer(t, { env: { PARLEY_SECRET: secret, PARLEY_SYNTHETIC: '1' } });
  const house = await houseAt(first);
  await linked(house, 'hello');
  const shared = { PARLEY_SECRET: secret };
  const out = join(first.folder, 'out.jsonl');
  const exported = await run(['export', '--out', out], {
    env: { ...shared, PARLEY_STORE: `lmdb:${join(first.folder, 'data')}` },
  });
  t.equal(exported.code, 0, exported.stderr);
  await first.stop();
  const whole = (await readFile(out, 'utf8')).trimEnd().split('\n');
  const at = whole.findIndex((line) => JSON.parse(line).record?.link?.slug === 'hello');
  const broken = JSON.parse(whole[at]!);
  broken.record.link.origins = ['not a url'];
  const folder = await temporaryFolder(t);
  await mkdir(join(folder, 'data'));
  const into = { ...shared, PARLEY_STORE: `lmdb:${join(folder, 'data')}` };
  const text = closed(whole.with(at, JSON.stringify(broken)));
  await writeFile(out, text);
  for (const ran of [
    await run(['import', '--from', out], { env: into }),
    await run(['import'], { env: into, input: text }),
  ]) {
    t.equal(ran.code, 1);
    const reason = `\`link.origins\` of the assistant ${broken.record.id} has the wrong type or a value that is not allowed`;
    t.equal(ran.stderr, `parley: Line ${at + 1} cannot be imported: ${reason}.\n`);
  }
  await writeFile(out, closed(whole));
  t.equal((await run(['import', '--from', out], { env: into })).code, 0);
  const second = await houseAt(await startServer(t, { folder, env: { ...shared, PARLEY_SYNTHETIC: '1' } }));
  t.equal((await second.ask('/p/hello/about', { key: null, headers: { origin: 'https://shop.example' } })).status, 200);
});
