/** Credentials at rest and in memory (promise P18). */
import { randomBytes } from 'node:crypto';
import { getHeapSnapshot } from 'node:v8';
import t from 'tap';
import { deleteCredential, patchCredential } from '../../src/http/console/credentials.ts';
import { deleteWorkspace } from '../../src/http/console/workspaces.ts';
import { limits } from '../../src/base/limits.ts';
import type { Services } from '../../src/conversation/services.ts';
import { openVault, type Holder, type Vault } from '../../src/access/vault.ts';
import { Scene, withSteps } from '../host/scene.ts';
import { credential, ids } from '../store/fixtures.ts';
import { sealedAsBefore } from './format-1.ts';

const [first, second, third] = [
  'the first secret of the installation',
  'the second secret of the installation',
  'a third that nobody is told about it',
];

const holder = (id: string, over: Partial<Holder> = {}): Holder => ({
  workspaceId: 'wks_1',
  id,
  provider: 'openai',
  baseUrl: 'https://api.example.com/v1',
  ...over,
});

t.test('a secret sealed under the earlier PARLEY_SECRET opens, and is told from one sealed now', async (t) => {
  const before = openVault(first, ids);
  const old = { ...holder('crd_1'), sealed: before.seal(holder('crd_1'), 'sk-1') };
  const now = openVault(second, ids, first);
  const fresh = { ...holder('crd_2'), sealed: now.seal(holder('crd_2'), 'sk-2') };
  t.same([now.open(old), now.open(fresh)], ['sk-1', 'sk-2']);
  t.same(
    [now.sealing(old), now.sealing(fresh)],
    [
      { secret: 'previous', bound: true },
      { secret: 'present', bound: true },
    ],
  );
  t.equal(before.open(fresh), null, 'nothing new is sealed under the old one');
  for (const other of [openVault(second, ids), openVault(third, ids, second), openVault(third, ids)])
    t.same([other.open(old), other.sealing(old)], [null, null]);
});

/** The same credential for another holder. */
const elsewhere: Readonly<Record<string, Partial<Holder>>> = {
  'another row': { id: 'crd_3' },
  'another workspace': { workspaceId: 'wks_2' },
  'another provider': { provider: 'anthropic' },
  'another host': { baseUrl: 'https://api.example.org/v1' },
  'another port': { baseUrl: 'https://api.example.com:8443/v1' },
  'no encryption on the way': { baseUrl: 'http://api.example.com/v1' },
  "the provider's own address": { baseUrl: null },
  'what is no URL': { baseUrl: 'https://' },
};

t.test('a secret opens for its row, its provider and its origin alone', async (t) => {
  const vault = openVault(first, ids);
  const right = { ...holder('crd_1'), sealed: vault.seal(holder('crd_1'), 'sk-1') };
  for (const [name, over] of Object.entries(elsewhere)) {
    t.same(
      [openVault(first, ids).open({ ...right, ...over }), vault.sealing({ ...right, ...over })],
      [null, null],
      name,
    );
    t.equal(vault.open(right), 'sk-1');
    t.equal(vault.open({ ...right, ...over }), null, `${name}, while it is held open`);
  }
  for (const baseUrl of ['https://api.example.com/v2', 'https://API.example.com:443'])
    t.equal(vault.open({ ...right, baseUrl }), 'sk-1', `the same origin: ${baseUrl}`);
  const own = holder('crd_2', { baseUrl: null });
  const sealed = vault.seal(own, 'sk-2');
  t.same(
    [
      vault.open({ ...own, sealed }),
      vault.open({ ...own, baseUrl: 'null', sealed }),
      vault.open({ ...own, baseUrl: '', sealed }),
    ],
    ['sk-2', null, null],
  );
  for (let at = 0; at < right.sealed.length; at++) {
    const changed = Uint8Array.from(right.sealed);
    changed[at]! ^= 1;
    t.equal(vault.open({ ...right, sealed: changed }), null, `byte ${at} changed`);
  }
  for (let length = 0; length < right.sealed.length; length++)
    t.equal(vault.open({ ...right, sealed: right.sealed.subarray(0, length) }), null, `cut to ${length}`);
});

t.test(
  'a secret that an earlier version bound to its row alone opens, and cannot be made of one bound now',
  async (t) => {
    const vault = openVault(second, ids, first);
    for (const [secret, which] of [
      [first, 'previous'],
      [second, 'present'],
    ] as const) {
      const old = { ...holder('crd_1'), sealed: sealedAsBefore(secret, holder('crd_1'), 'sk-1') };
      t.same([vault.open(old), vault.sealing(old)], ['sk-1', { secret: which, bound: false }]);
      t.same([vault.open({ ...old, id: 'crd_3' }), vault.open({ ...old, workspaceId: 'wks_2' })], [null, null]);
    }
    for (const format of [0, 1, 3, 255]) {
      const sealed = vault.seal(holder('crd_1'), 'sk-1');
      sealed[0] = format;
      t.equal(vault.open({ ...holder('crd_1'), sealed }), null, `format ${format} in its first byte`);
    }
  },
);

/** The beginning of a text, in two halves: the search itself would be found otherwise. */
type Beginning = readonly [head: string, tail: string];

/** For each of the texts that begin so, whether it is anywhere in memory: a snapshot of it takes a second. */
async function held(beginnings: readonly Beginning[]): Promise<boolean[]> {
  const found = beginnings.map(() => false);
  let rest = '';
  for await (const piece of getHeapSnapshot()) {
    const text: string = rest + String(piece);
    for (const [index, [head, tail]] of beginnings.entries()) {
      for (let at = text.indexOf(head); at >= 0 && !found[index]; at = text.indexOf(head, at + 1))
        found[index] = text.startsWith(tail, at + head.length);
    }
    rest = text.slice(-100);
  }
  return found;
}

t.test('an opened secret is held no longer than it may be', async (t) => {
  /** Opens a unique secret; returns only its beginning. */
  const opened = (vault: Vault, workspaceId: string, id: string): Beginning => {
    const bytes = randomBytes(24);
    const row = holder(id, { workspaceId });
    vault.open({ ...row, sealed: vault.seal(row, bytes.toString('hex')) });
    return [bytes.toString('hex', 0, 4), bytes.toString('hex', 4, 12)];
  };
  const forgetting: Readonly<Record<string, (vault: Vault) => void>> = {
    'one credential': (vault) => vault.forget('wks_1', 'crd_1'),
    'a workspace': (vault) => vault.forget('wks_1'),
    all: (vault) => vault.forget(),
  };
  const vaults = Object.entries(forgetting).map(([name, forget]) => {
    const vault = openVault(first, ids);
    return {
      name,
      forget: () => forget(vault),
      gone: opened(vault, 'wks_1', 'crd_1'),
      kept: opened(vault, 'wks_12', 'crd_1'),
    };
  });
  const beginnings = vaults.flatMap(({ gone, kept }) => [gone, kept]);
  t.same(
    await held(beginnings),
    beginnings.map(() => true),
    'held open',
  );
  for (const { forget } of vaults) forget();
  const after = await held(beginnings);
  for (const [index, { name }] of vaults.entries())
    t.same(after.slice(2 * index, 2 * index + 2), [false, name !== 'all'], `${name} is gone, and no other`);
});

t.test(
  'a process that changes or removes a credential drops its secret, and so do others when they are notified',
  async (t) => {
    const one = await Scene.open();
    const other = one.beside(withSteps(one.store, { leaseMs: limits.leaseMs }));
    const { workspaceId, clock } = one;
    const forgotten = { here: [] as unknown[], elsewhere: [] as unknown[] };
    const vault: Vault = {
      ...openVault(first, ids),
      forget: (...row) => void forgotten.here.push(row.filter((part) => part !== undefined)),
    };
    one.host.onCredentials = (...row) => vault.forget(...row);
    other.host.onCredentials = (...row) => void forgotten.elsewhere.push(row.filter((part) => part !== undefined));
    await other.host.start();
    const services = {
      host: one.host,
      store: one.store,
      clock,
      ids,
      vault,
      baseUrlProblem: () => null,
      config: { trustedProxies: [] },
    } as unknown as Services;
    const caller = { by: { kind: 'operator', id: 'operator', name: 'operator' }, grant: { role: 'owner' } };
    const head = { remoteAddress: '127.0.0.1' };
    const request = (id: string, body: object = {}) =>
      ({ params: { w: workspaceId, id }, caller, head, body, services }) as never;
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
  },
);
