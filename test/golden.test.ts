/** Data of earlier versions is read and continued by this one (promise P12). */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import type { Config } from '../src/base/config.ts';
import { Host } from '../src/host.ts';
import { resealSecrets } from '../src/operations/resealing.ts';
import type { Store } from '../src/store/store.ts';
import { unpackRow } from '../src/store/codec.ts';
import { rowOf } from '../src/store/dump/text.ts';
import { openVault } from '../src/access/vault.ts';
import { messageView, usageCountsView } from '../src/conversation/views.ts';
import { openHouse, textOf, type House } from './api/house.ts';
import { refused, say, sayInVain, transcriptOf } from './api/talk.ts';
import { answer, type GoldenSnapshot } from './golden/machines.ts';
import { StagedModel, unreported } from './host/scene.ts';
import { aboutOf, dataFolder, forms, type About, type Golden } from './golden/opened.ts';
import { machines } from './machines/machine.ts';
import { ids, page } from './store/fixtures.ts';
import { whyNoRedis } from './store/redis-server.ts';

const golden = fileURLToPath(new URL('golden/', import.meta.url));
const versions = readdirSync(golden, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);
t.ok(versions.length > 0);

for (const version of versions) {
  const folder = join(golden, version);
  for (const [form, open] of Object.entries(forms)) {
    t.test(`${version}, ${form}`, { skip: form === 'redis' ? (whyNoRedis() ?? false) : false }, async (t) => {
      const found = await open(t, folder);
      await found.store.open(found.clock.now());
      const host = new Host(found.store, found.clock, ids, pino({ level: 'silent' }), 100_000);
      t.teardown(async () => {
        host.close();
        await found.store.close();
      });
      await records(t, found);
      await keys(t, found, host);
      await conversations(t, found, host);
    });
  }

  t.test(`${version}, machines`, async (t) => {
    const kept = JSON.parse(readFileSync(join(folder, 'machines.json'), 'utf8')) as Record<string, GoldenSnapshot[]>;
    for (const [name, snapshots] of Object.entries(kept)) {
      t.same(
        [...new Set(snapshots.map(({ snapshot }) => snapshot.state))].filter(
          (state) => !(state in machines[name]!.machine.states),
        ),
        [],
      );
      for (const { snapshot, answers } of snapshots) {
        t.same(
          answers.map(({ event }) => answer(name, snapshot, event)),
          answers,
          `${name} ${snapshot.state}`,
        );
      }
    }
  });

  t.test(`${version}, a row of the audit`, async (t) => {
    const { record, stored, exported } = JSON.parse(readFileSync(join(folder, 'audit.json'), 'utf8'));
    t.same(unpackRow(Buffer.from(stored, 'base64')), { record, version: 1 }, 'as an embedded store keeps it');
    t.same(rowOf(exported), { type: 'audit', record }, 'as an export has it');
  });

  t.test(`${version}, a delivery to a webhook`, async (t) => {
    const { record, stored, exported } = JSON.parse(readFileSync(join(folder, 'delivery.json'), 'utf8'));
    t.same(unpackRow(Buffer.from(stored, 'base64')), record, 'as an embedded store keeps it');
    t.same(rowOf(exported), { type: 'delivery', record }, 'as an export has it');
  });

  t.test(`${version}, served`, (t) => served(t, folder));
}

const transcript = async (store: Store, { workspaceId }: About, id: string) =>
  JSON.parse(
    JSON.stringify(
      (await store.sessions.messages(workspaceId, id, page())).items.map((message) => messageView(message)).map(asKept),
    ),
  );

/**
 * A message as versions without calls, tools, feedback, signed visitors and versions of assistants answered it: all of
 * theirs were typed, and had none of these.
 */
function asKept({
  voice,
  tool_calls: calls,
  feedback,
  visitor_verified: _,
  visitor_id: __,
  assistant_version: ___,
  ...kept
}: {
  readonly voice: unknown;
  readonly tool_calls: readonly unknown[];
  readonly feedback: unknown;
  readonly visitor_verified: unknown;
  readonly visitor_id: unknown;
  readonly assistant_version: unknown;
}): object {
  return voice === null && calls.length === 0 && feedback === null ? kept : { ...kept, voice, calls, feedback };
}

async function records(t: Test, { about, store, clock }: Golden): Promise<void> {
  const { workspaceId, sessions } = about;
  t.match(await store.catalog.read('workspace', workspaceId, workspaceId), {
    record: { name: 'Golden', retentionDays: 3650 },
  });
  const assistants = (await store.catalog.list('assistant', workspaceId, page())).items;
  t.equal(assistants.filter(({ machine }) => machine.state === 'disabled').length, 1);
  t.match(
    assistants.find(({ greeting }) => greeting === 'Hello 👋'),
    { visitorFields: [{ name: 'email', type: 'email' }], machine: { state: 'published' } },
  );
  await credentials(t, { about, store, clock });
  for (const [id, said] of Object.entries(about.transcripts)) t.same(await transcript(store, about, id), said);
  for (const state of ['open', 'ended', 'expired'] as const)
    t.equal((await store.sessions.read(workspaceId, sessions[state]))?.record.machine.state, state);
  const at = Math.floor(clock.now() / 1000);
  const buckets = await store.usage.read(workspaceId, {
    assistantIds: null,
    start: at - 86_400,
    end: at + 1,
    bucketSeconds: 86_400,
  });
  const sum = (name: string) =>
    buckets.reduce((all, bucket) => all + (usageCountsView(bucket) as Record<string, number>)[name]!, 0);
  t.same(Object.fromEntries(Object.keys(about.usage).map((name) => [name, sum(name)])), about.usage);
  const key = (await store.catalog.keyByPublicId(about.key.split('_')[1]!))!.record;
  const [turnId] = about.transcripts[sessions.open].slice(1).map((message: { turn_id: string }) => message.turn_id);
  t.match(await store.requests.find(workspaceId, `${key.id} /sessions/${sessions.open}/chat`, 'golden', clock.now()), {
    resultId: turnId,
  });
}

/** Before and after a start has sealed them as this version does. */
async function credentials(t: Test, { about, store }: Golden): Promise<void> {
  const vault = openVault(about.secret, ids);
  const stored = async () => (await store.catalog.read('credential', about.workspaceId, about.credential.id))!.record;
  t.equal(vault.open(await stored()), about.credential.apiKey);
  await resealSecrets({ store, vault, log: pino({ level: 'silent' }), config: { secretPrevious: null } as Config });
  t.same(vault.sealing(await stored()), { secret: 'present', bound: true });
  t.equal(vault.open(await stored()), about.credential.apiKey);
}

async function keys(t: Test, { about }: Golden, host: Host): Promise<void> {
  const actor = await host.keys.authenticate(about.key);
  t.equal(actor.record.name, 'golden');
  t.match(await host.keys.take(actor, ['requests']), [{ passed: true }]);
  await t.rejects(async () => host.keys.authenticate(about.revokedKey), { code: 'revoked_api_key' });
  await t.rejects(async () => host.keys.authenticate(about.key.slice(0, -1)), { code: 'invalid_api_key' });
}

async function conversations(t: Test, { about, store }: Golden, host: Host): Promise<void> {
  const { workspaceId, sessions } = about;
  const begin = async (id: string): Promise<{ told: string[]; over: Promise<unknown> }> => {
    const actor = (await host.sessions.of(workspaceId, id))!;
    const model = new StagedModel((sink) => {
      sink.text('and on');
      sink.end();
    });
    const started = await host.turns.begin(actor, {
      message: 'Third',
      assistantRefusal: null,
      takesSlot: true,
      remember: null,
      model,
      reports: unreported,
    });
    if (started.kind !== 'started') throw new Error(started.kind);
    return { told: model.conversation.map(({ content }) => content), over: started.runner.over };
  };
  const { told, over } = await begin(sessions.open);
  await over;
  const before = about.transcripts[sessions.open].map(({ content }: { content: string }) => content);
  t.same(told, [...before, 'Third'], 'the model is told what was said');
  t.same(
    (await transcript(store, about, sessions.open)).map(({ content }: { content: string }) => content),
    [...before, 'Third', 'and on'],
  );
  await t.rejects(begin(sessions.ended), { code: 'session_ended' });
  await t.rejects(begin(sessions.expired), { code: 'session_expired' });
  const cut = await begin(sessions.cut);
  await cut.over;
  t.equal(cut.told[1], about.cutText);
  t.match((await transcript(store, about, sessions.cut))[1], {
    content: about.cutText,
    status: 'partial',
    stop_reason: 'error',
    error_code: 'api_error',
  });
  t.equal(await store.turns.inFlight(workspaceId), 0);
}

/**
 * Serves the folder with a new server, at today's time: sessions have ended by then, and all their content is there.
 */
async function served(t: Test, folder: string): Promise<void> {
  const about = aboutOf(folder, 'lmdb');
  const house = await openHouse(t, {
    folder: dirname(await dataFolder(t, folder)),
    embedded: true,
    env: { PARLEY_STORE: 'lmdb:./data', PARLEY_SECRET: about.secret },
  });
  const { key } = about;
  for (const [id, said] of Object.entries(about.transcripts))
    t.same((await house.ask(`/sessions/${id}/transcript?limit=100`, { key })).json.data.map(asKept), said);
  refused(t, await house.ask('/assistants', { key: about.revokedKey }), 401, 'revoked_api_key');
  refused(t, await sayInVain(house, about.sessions.ended), 409, 'session_ended');
  const [assistant] = (await house.ask('/assistants?limit=100', { key })).json.data.filter(
    (one: any) => one.greeting === 'Hello 👋',
  );
  const session = await house.session(assistant.id);
  const stream = await house.stream(`/sessions/${session.id}/chat`, { key, body: { message: 'Hello' } });
  t.equal((await stream.rest()).at(-1)?.event, 'turn.completed');
  t.equal((await transcriptOf(house, session.id)).length, 3);
  await t.test('an assistant of an earlier version is its version 1', (t) => first(t, house, assistant, session.id));
}

/** Sessions of the assistant stay on version 1, with the settings that it had before a change and its publication. */
async function first(t: Test, house: House, { id }: any, sessionId: string): Promise<void> {
  const path = `/workspaces/${house.workspaceId}/assistants/${id}`;
  const one = async () => (await house.console(path)).json;
  const reply = async (session: string) => textOf(await (await say(house, session)).rest()).trim();
  const before = await one();
  t.match(before, { status: 'published', version: 1, draft: { changed: false } });
  t.equal((await house.ask(`/sessions/${sessionId}`)).json.assistant_version, 1);
  const said = await reply(sessionId);
  const model = { ...before.model, name: 'tokens=1,text=other' };
  const changed = await house.console(path, { method: 'PATCH', body: { greeting: 'Other', model } });
  t.match(changed.json, { version: 1, greeting: 'Other', draft: { changed: true } });
  t.equal((await house.ask(`/assistants/${id}`)).json.greeting, before.greeting, 'people see its version');
  t.equal(await reply(sessionId), said, 'an open session is answered as before');
  t.match((await house.console(`${path}/publish`, { method: 'POST' })).json, { version: 2, draft: { changed: false } });
  t.equal(await reply(sessionId), said, 'and after the change is published');
  const { id: next, assistant_version: version } = await house.session(id);
  t.equal(version, 2);
  t.equal(await reply(next), 'other');
}
