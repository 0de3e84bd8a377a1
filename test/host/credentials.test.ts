/** Credentials as turns find them: looked up once within `catalogFreshMs`. */
import t from 'tap';
import { Credentials, credentialsKeptMax } from '../../src/host/credentials.ts';
import { limits } from '../../src/base/limits.ts';
import { StoreUnavailable, type Catalog } from '../../src/store/store.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { ManualClock } from '../providers/model/provider.ts';
import * as records from '../store/fixtures.ts';

async function open() {
  const store = memoryStore();
  await store.open(0);
  const workspace = records.workspace();
  const credential = records.credential(workspace.id);
  await store.catalog.create('workspace', workspace);
  await store.catalog.create('credential', credential);
  const asked = { reads: 0, away: false };
  const read: Catalog['read'] = async (kind, workspaceId, id) => {
    asked.reads++;
    if (asked.away) throw new StoreUnavailable('away');
    return store.catalog.read(kind, workspaceId, id);
  };
  const clock = new ManualClock();
  return { asked, clock, workspace, credential, store, credentials: new Credentials({ read }, clock) };
}

t.test('turns share a read of the store until it is too old', async (t) => {
  const { asked, clock, workspace, credential, credentials } = await open();
  const both = await Promise.all([
    credentials.of(workspace.id, credential.id),
    credentials.of(workspace.id, credential.id),
  ]);
  t.same([both[0], both[1], asked.reads], [credential, credential, 1]);
  clock.advance(limits.catalogFreshMs - 1);
  await credentials.of(workspace.id, credential.id);
  t.equal(asked.reads, 1);
  clock.advance(1);
  await credentials.of(workspace.id, credential.id);
  t.equal(asked.reads, 2, 'what another process has changed is seen by then');
  t.equal(await credentials.of('wks_other', credential.id), null, 'it is of one workspace');
});

t.test('a change in this process is seen at once', async (t) => {
  const { asked, workspace, credential, store, credentials } = await open();
  for (const forgotten of [[workspace.id, credential.id], [workspace.id], []] as const) {
    await credentials.of(workspace.id, credential.id);
    const before = asked.reads;
    credentials.forget('wks_other');
    await credentials.of(workspace.id, credential.id);
    t.equal(asked.reads, before, 'another workspace is nothing to it');
    credentials.forget(...forgotten);
    await credentials.of(workspace.id, credential.id);
    t.equal(asked.reads, before + 1);
  }
  await store.catalog.remove('credential', workspace.id, credential.id);
  credentials.forget(workspace.id, credential.id);
  t.equal(await credentials.of(workspace.id, credential.id), null);
});

t.test('a read after a failed one is sent again', async (t) => {
  const { asked, workspace, credential, credentials } = await open();
  asked.away = true;
  await t.rejects(credentials.of(workspace.id, credential.id), { message: 'away' });
  asked.away = false;
  t.same(await credentials.of(workspace.id, credential.id), credential);
});

t.test('a bounded number of credentials is cached', async (t) => {
  const { asked, workspace, credential, credentials } = await open();
  await credentials.of(workspace.id, credential.id);
  for (let other = 1; other < credentialsKeptMax; other++) await credentials.of(workspace.id, `crd_${other}`);
  const before = asked.reads;
  await credentials.of(workspace.id, credential.id);
  t.equal(asked.reads, before);
  await credentials.of(workspace.id, 'crd_one_more');
  await credentials.of(workspace.id, credential.id);
  t.equal(asked.reads, before + 2, 'the oldest went');
});
