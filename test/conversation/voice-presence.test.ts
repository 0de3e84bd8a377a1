/**
 * The presence of a visitor on a voice socket: who speaks has a place and is charged, who is silent for a minute does
 * not (contract 9).
 */
import t from 'tap';
import type { Principal } from '../../src/conversation/principal.ts';
import type { Services } from '../../src/conversation/services.ts';
import { VoicePresence } from '../../src/conversation/voice-presence.ts';
import { limits } from '../../src/base/limits.ts';
import { nobody } from '../../src/actors/cause.ts';
import { pass, Scene } from '../host/scene.ts';
import { linkSession, say, sealed, used, visitorOf } from '../pages/link/stage.ts';

const { linkHoldMs: hold, linkSilenceMs: silence, linkSocketAheadMs: ahead } = limits;

/** A socket of a visitor whose token has started the clock, as the timers of a socket look at it. */
async function openSocket(scene: Scene, linkLimits: object = {}) {
  const { host, clock, workspaceId, assistantId } = scene;
  const session = await linkSession(scene, 'vis_1');
  await host.sessions.spend(await scene.actor(session.id), visitorOf(scene, 'vis_1'));
  const found = (await host.assistants.of(workspaceId, assistantId))!;
  const assistant = { record: { ...found.record, link: { slug: 'a', limits: linkLimits, origins: [] } } };
  const counted: string[] = [];
  const services = {
    clock,
    host: { assistants: { of: async () => assistant }, sessions: host.sessions, placeMsMax: host.placeMsMax },
    log: { warn: (_: object, message: string) => counted.push(message) },
    metrics: { limited: { inc: (limiter: string) => counted.push(limiter) } },
  } as unknown as Services;
  const principal: Principal = {
    ...{ workspaceId, id: 'vis_1', kind: 'visitor', name: 'vis_1', channel: 'link', assistantIds: [assistantId] },
    visitor: { addressKey: () => 'somewhere', signedFields: null },
  };
  const socket = { speaks: false, refusals: 0 };
  const refused = (): void => void socket.refusals++;
  const presence = new VoicePresence({
    services,
    principal,
    session,
    requestId: 'req_a',
    speaks: () => socket.speaks,
    refused,
  });
  presence.look();
  const passes = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= limits.socketPollMs) {
      await pass(scene, limits.socketPollMs);
      presence.look();
    }
  };
  return { presence, socket, counted, passes };
}

t.test(
  'a visitor who is silent for a minute gives the place back, and takes it anew with the next speech',
  async (t) => {
    const scene = await Scene.open();
    const { presence, passes } = await openSocket(scene);
    await passes(silence - limits.socketPollMs);
    t.same(await used(scene), { ms: silence, visitors: 1 });
    await passes(limits.socketPollMs);
    t.equal((await used(scene)).visitors, 0);
    await passes(10 * silence);
    t.same(await used(scene), { ms: silence, visitors: 0 }, 'silence costs nothing');
    t.equal(await presence.begins(), true);
    t.same(await used(scene), { ms: silence + ahead, visitors: 1 });
    t.equal(presence.begins(), true, 'a visitor who is present needs no step');
    await passes(2 * silence);
    t.same(await used(scene), { ms: 2 * silence, visitors: 0 }, 'a minute of silence after the speech is charged');
    presence.close();
    scene.host.close();
  },
);

t.test('a visitor who speaks is charged for as long as that lasts', async (t) => {
  const scene = await Scene.open();
  const { presence, socket, passes } = await openSocket(scene);
  socket.speaks = true;
  await passes(5 * silence);
  socket.speaks = false;
  await passes(silence);
  t.same(await used(scene), { ms: 6 * silence, visitors: 0 });
  presence.close();
  scene.host.close();
});

t.test('speech that a limit refuses is refused once, and asked for again with the next speech', async (t) => {
  const scene = await Scene.open();
  const { presence, socket, counted, passes } = await openSocket(scene, { concurrent_visitors: 1 });
  await passes(silence);
  const other = await linkSession(scene, 'vis_2');
  await sealed(await say(scene, other.id, visitorOf(scene, 'vis_2')));
  socket.speaks = true;
  t.equal(await presence.begins(), false);
  await passes(hold / 2);
  t.same([socket.refusals, counted], [1, ['concurrent_visitors']]);
  await scene.host.sessions.end(await scene.actor(other.id));
  t.equal(await presence.begins(), true);
  t.equal((await used(scene)).visitors, 1);
  presence.close();
  scene.host.close();
});

t.test('a charge that the store rejects is repeated with the next one, and refuses nobody', async (t) => {
  const scene = await Scene.open();
  const { presence, socket, counted, passes } = await openSocket(scene);
  await passes(silence);
  const { keepPresent } = scene.host.sessions;
  scene.host.sessions.keepPresent = () => Promise.reject(new Error('away'));
  socket.speaks = true;
  t.equal(await presence.begins(), true);
  scene.host.sessions.keepPresent = keepPresent;
  await passes(limits.linkSocketMs + limits.socketPollMs);
  t.same([socket.refusals, counted.length, (await used(scene)).visitors], [0, 1, 1]);
  presence.close();
  scene.host.close();
});

t.test('a visitor whose session a request ends is not kept present', async (t) => {
  const scene = await Scene.open();
  const { presence, socket, passes } = await openSocket(scene);
  const id = [...scene.host.sessions.population.residents()][0]!.identity.id;
  socket.speaks = true;
  await passes(limits.linkSocketMs);
  await scene.host.sessions.end(await scene.actor(id), nobody, visitorOf(scene, 'vis_1'));
  await passes(silence);
  t.same(await used(scene), { ms: limits.linkSocketMs, visitors: 0 });
  presence.close();
  scene.host.close();
});
