/** Visitors of links in this process: the data kept of them, and for how long. */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import t from 'tap';
import { nobody } from '../../src/actors/cause.ts';
import type { VisitorUse } from '../../src/host/link-budget.ts';
import { LinkRefused } from '../../src/host/visitors.ts';
import { limits } from '../../src/base/limits.ts';
import type { Session } from '../../src/store/store.ts';
import { Scene } from './scene.ts';

const of = ({ assistantId, host }: Scene, visitorId: string): VisitorUse => ({
  assistantId,
  visitorId,
  isSigned: false,
  addressKey: () => 'somewhere',
  limits: {
    minutes_per_day: null,
    concurrent_visitors: null,
    messages_per_visitor_per_day: 0,
    messages_per_address_per_hour: null,
  },
  placeMsMax: host.placeMsMax,
});

/** Refuses the visitor a message, until midnight. */
async function refuse(scene: Scene, visitorId: string): Promise<void> {
  const { workspaceId, clock, host } = scene;
  const refused = await host.visitors.refuse(
    workspaceId,
    of(scene, visitorId),
    { names: ['messages_per_visitor_per_day'] },
    [{ passed: false, waitMs: null }] as never,
    clock.now(),
    nobody,
  );
  if (!(refused instanceof LinkRefused)) throw refused;
}

const talking = (session: Session, visitorId: string, untilMs: number, movedBy = 'trn_1'): Session => ({
  ...session,
  link: { visitorId, clock: { untilMs, dayMs: 0, chargedMs: 0, movedBy } },
});

t.test('a refused visitor needs no timer and is passivated when idle', async (t) => {
  const scene = await Scene.open();
  const { clock, host } = scene;
  const timers = clock.timers;
  const times = 12_000;
  for (let time = 0; time < times; time++) await refuse(scene, `vis_${time}`);
  t.equal(clock.timers, timers + 1, 'the sweep alone');
  t.equal(host.census().visitor, times);
  t.equal([...host.visitors.population.residents()].filter(({ busy }) => busy).length, 0);
  clock.advance(2 * limits.actorIdleMs);
  t.same([host.census().visitor, clock.timers], [0, timers]);
});

t.test('among more of them than may live each id has one actor', async (t) => {
  const scene = await Scene.open();
  const { clock, host } = scene;
  const alive = new Map<string, number>();
  let most = 0;
  host.inspector.watch(({ type, actor }) => {
    if (actor.kind !== 'visitor' || type === 'event') return;
    const count = (alive.get(actor.id) ?? 0) + (type === 'activated' ? 1 : -1);
    alive.set(actor.id, count);
    most = Math.max(most, count);
  });
  const session = await scene.session();
  const times = limits.actorsLiveMax + 1_000;
  for (let time = 0; time < times; time++)
    host.visitors.noteAccepted(talking(session, `vis_${time}`, 0), clock.now() + limits.linkHoldMs, nobody);
  await turnOfTheLoop();
  for (let time = 0; time < 2_000; time++) {
    if (time % 100 === 0) clock.advance(100);
    await refuse(scene, `vis_refused_${time % 500}`);
  }
  t.equal(most, 1);
});

t.test('a refused visitor whose clock runs keeps the place until it has run out', async (t) => {
  const scene = await Scene.open();
  const { clock, host, workspaceId } = scene;
  const session = await scene.session();
  const states: string[] = [];
  host.inspector.watch((inspected) => {
    if (inspected.actor.kind === 'visitor' && inspected.type === 'event') states.push(inspected.to);
  });
  host.visitors.noteAccepted(talking(session, 'vis_1', 0), clock.now() + 1_000, nobody);
  await turnOfTheLoop();
  await refuse(scene, 'vis_1');
  const actor = host.visitors.population.find('vis_1')!;
  t.equal(actor.busy, true);
  clock.advance(1_000);
  t.same([actor.busy, states], [false, ['present', 'limited', 'limited']]);

  const away = await host.visitors.refuse(
    workspaceId,
    of(scene, 'vis_2'),
    { names: ['messages_per_address_per_hour'] },
    [{ passed: false, waitMs: 5_000 }] as never,
    clock.now(),
    nobody,
  );
  t.equal(away.limiters[0], 'messages_per_address_per_hour');
  const shown = () => host.awake().find(({ actor: { id } }) => id === 'vis_2')?.state;
  t.equal(shown(), 'limited');
  clock.advance(5_000);
  t.equal(shown(), 'away', 'whoever looks sees that the refusal is over');
});

t.test('20,000 sessions of one visitor cost one clock each and no search', async (t) => {
  const scene = await Scene.open();
  const { clock, host } = scene;
  const session = await scene.session();
  const times = 20_000;
  const until = clock.now() + limits.linkHoldMs;
  const said = (time: number): void =>
    host.visitors.noteAccepted(talking({ ...session, id: `ses_${time}` }, 'vis_1', 0), until, nobody);
  said(0);
  await turnOfTheLoop();
  const actor = host.visitors.population.find('vis_1')!;
  let looks = 0;
  actor.clocks.values = () => (looks++, Map.prototype.values.call(actor.clocks));
  for (let time = 1; time < times; time++) said(time);
  await turnOfTheLoop();
  t.equal(looks, 0, 'no message looks at the clocks of all sessions');
  t.equal(actor.clocks.size, times, 'one clock each');
  clock.advance(1_000);
  host.visitors.noteMoved(talking({ ...session, id: 'ses_1' }, 'vis_1', until + 1_000), nobody);
  await turnOfTheLoop();
  t.equal(actor.context.clockUntil, until + 1_000);
  host.visitors.noteMoved(talking({ ...session, id: 'ses_1' }, 'vis_1', clock.now(), 'end'), nobody);
  await turnOfTheLoop();
  t.equal(actor.context.clockUntil, until, 'those of the others run on');
  clock.advance(limits.linkHoldMs);
  t.equal(actor.machine.state, 'away');
});
