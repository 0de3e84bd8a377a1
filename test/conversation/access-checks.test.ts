/** Number of times that a request reads its session if processes share the store: once (each read is a round trip). */
import t from 'tap';
import { reachActor, reachConversation, reachSession } from '../../src/conversation/access-checks.ts';
import { limits } from '../../src/base/limits.ts';
import type { Services } from '../../src/conversation/services.ts';
import { StoreUnavailable, type Store } from '../../src/store/store.ts';
import { Scene, withSteps } from '../host/scene.ts';

t.test('a request reads its session once, live or passivated', async (t) => {
  const made = await Scene.open();
  const { id } = await made.session();
  let looks = 0;
  const session: typeof made.store.sessions.read = (workspaceId, sessionId) => {
    looks++;
    return made.store.sessions.read(workspaceId, sessionId);
  };
  const { host, store, clock, workspaceId } = made.beside(withSteps(made.store, { leaseMs: limits.leaseMs, session }));
  const services = { host, store, clock } as unknown as Services;
  const principal = { workspaceId, id: 'key_1', kind: 'key', name: 'Key', channel: 'api', assistantIds: null } as const;
  for (const when of ['asleep', 'awake', 'awake again']) {
    looks = 0;
    await reachActor(principal, id, services);
    t.equal(looks, 1, when);
  }
  looks = 0;
  await reachSession(principal, id, services);
  t.equal(looks, 1, 'to be read');

  const { record } = (await made.store.sessions.read(workspaceId, id))!;
  await made.host.sessions.end((await made.host.sessions.of(workspaceId, id))!);
  t.equal(
    (await reachActor(principal, id, services)).machine.state,
    'ended',
    'what another process has done since is seen',
  );
  await t.rejects(async () => reachActor({ ...principal, assistantIds: [] }, id, services), {
    code: 'assistant_not_permitted',
  });
  await t.rejects(async () => reachActor({ ...principal, workspaceId: 'wks_other' }, id, services), {
    code: 'session_not_found',
  });
  clock.advance((record.lastActivityAt + limits.retentionDaysDefault * 86_400 + 1) * 1000 - clock.now());
  await t.rejects(async () => reachActor(principal, id, services), { code: 'session_not_found' }, 'past retention');
});

t.test('a refusal of the session comes before an assistant that cannot be read', async (t) => {
  const made = await Scene.open();
  const { id } = await made.session();
  const { id: trial } = await made.session({ channel: 'console' });
  const read = ((kind: string, workspaceId: string, recordId: string) =>
    kind === 'assistant'
      ? Promise.reject(new StoreUnavailable('away'))
      : made.store.catalog.read(kind as 'key', workspaceId, recordId)) as Store['catalog']['read'];
  const { host, store, clock, workspaceId } = made.beside(withSteps(made.store, { 'catalog.read': read }));
  const services = { host, store, clock } as unknown as Services;
  const principal = { workspaceId, id: 'key_1', kind: 'key', name: 'Key', channel: 'api', assistantIds: null } as const;
  await t.rejects(async () => reachConversation({ ...principal, assistantIds: [] }, id, services), {
    code: 'assistant_not_permitted',
  });
  await t.rejects(async () => reachConversation(principal, trial, services), { code: 'session_not_found' });
  await t.rejects(async () => reachConversation(principal, id, services), { message: 'away' });
});
