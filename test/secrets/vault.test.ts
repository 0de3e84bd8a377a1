/** Credentials at rest and in memory (promise P18). */
import { randomBytes } from 'node:crypto';
import { getHeapSnapshot } from 'node:v8';
import t from 'tap';
import { deleteCredential, patchCredential } from '../../src/console/credentials.ts';
import { deleteWorkspace } from '../../src/console/workspaces.ts';
import { limits } from '../../src/limits.ts';
import type { Services } from '../../src/services.ts';
import { openVault, type Vault } from '../../src/vault.ts';
import { Scene, withSteps } from '../host/scene.ts';
import { credential, ids } from '../store/fixtures.ts';

const [first, second, third] = ['the first secret of the installation', 'the second secret of the installation', 'a third that nobody is told about it'];

t.test('what was sealed under the secret before opens, and is told from what is sealed now', async (t) => {
  const before = openVault(first!, ids);
  const sealed = before.seal('wks_1', 'crd_1', 'sk-1');
  const now = openVault(second!, ids, first);
  const fresh = now.seal('wks_1', 'crd_2', 'sk-2');
  t.same([now.open('wks_1', 'crd_1', sealed), now.open('wks_1', 'crd_2', fresh)], ['sk-1', 'sk-2']);
  t.same([now.sealedUnder('wks_1', 'crd_1', sealed), now.sealedUnder('wks_1', 'crd_2', fresh)], ['previous', 'present']);
  t.equal(now.open('wks_1', 'crd_3', sealed), null, 'bound to its row');
  t.equal(now.open('wks_2', 'crd_1', sealed), null);
  t.equal(now.sealedUnder('wks_1', 'crd_3', sealed), null);
  t.equal(before.open('wks_1', 'crd_2', fresh), null, 'nothing new is sealed under the old one');
  for (const other of [openVault(second!, ids), openVault(third!, ids, second), openVault(third!, ids)]) {
    t.same([other.open('wks_1', 'crd_1', sealed), other.sealedUnder('wks_1', 'crd_1', sealed)], [null, null]);
  }
  const changed = Uint8Array.from(sealed);
  changed[20]! ^= 1;
  t.equal(now.open('wks_1', 'crd_1', changed), null);
});

/** How a text begins, in two halves: what searches for it would be found otherwise. */
type Beginning = readonly [head: string, tail: string];

/** Whether a text that begins so is anywhere in memory. */
async function held([head, tail]: Beginning): Promise<boolean> {
  let rest = '';
  let found = false;
  for await (const piece of getHeapSnapshot()) {
    const text: string = rest + String(piece);
    for (let at = text.indexOf(head); at >= 0 && !found; at = text.indexOf(head, at + 1)) found = text.startsWith(tail, at + head.length);
    rest = text.slice(-100);
  }
  return found;
}

t.test('what was opened is held no longer than it may be', async (t) => {
  const vault = openVault(first!, ids);
  /** Opens a secret that nobody else has; only how it begins is told. */
  const opened = (workspaceId: string, id: string): Beginning => {
    const bytes = randomBytes(24);
    vault.open(workspaceId, id, vault.seal(workspaceId, id, bytes.toString('hex')));
    return [bytes.toString('hex', 0, 4), bytes.toString('hex', 4, 12)];
  };
  const forgetting: Record<string, (vault: Vault) => void> = {
    'one credential': (vault) => vault.forget('wks_1', 'crd_1'),
    'a workspace': (vault) => vault.forget('wks_1'),
    all: (vault) => vault.forget(),
  };
  for (const [name, forget] of Object.entries(forgetting)) {
    const gone = opened('wks_1', 'crd_1');
    const kept = opened('wks_12', 'crd_1');
    t.equal(await held(gone), true, 'held open');
    forget(vault);
    t.equal(await held(gone), false, name);
    t.equal(await held(kept), name !== 'all', 'and no other');
    vault.forget();
  }
});

t.test('whoever changes or removes a credential lets go of its secret, and so do others when they hear of it', async (t) => {
  const one = await Scene.open();
  const other = one.beside(withSteps(one.store, { leaseMs: limits.leaseMs }));
  const { workspaceId, clock } = one;
  const forgotten = { here: [] as unknown[], elsewhere: [] as unknown[] };
  const vault: Vault = { ...openVault(first!, ids), forget: (...row) => void forgotten.here.push(row) };
  other.host.onCredentials = (...row) => void forgotten.elsewhere.push(row);
  await other.host.start();
  const services = { host: one.host, store: one.store, clock, ids, vault, baseUrlProblem: () => null } as unknown as Services;
  const request = (id: string, body: object = {}) => ({ params: { w: workspaceId, id }, body, services }) as never;
  const told = (...row: string[]): void => {
    t.same([forgotten.here.pop(), forgotten.elsewhere.pop()], [row, row]);
    t.same(forgotten.here, []);
  };
  const draft = credential(workspaceId);
  await one.store.catalog.create('credential', draft);
  forgotten.elsewhere = [];
  await patchCredential(request(draft.id, { api_key: 'sk-2' }));
  told(workspaceId, draft.id);
  await deleteCredential(request(draft.id));
  told(workspaceId, draft.id);
  await deleteWorkspace(request(''));
  told(workspaceId);
  one.host.close();
  other.host.close();
});
