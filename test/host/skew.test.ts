/** Two processes on one store, their wall clocks a minute apart: what ends, ends for both at the store's time. */
import { pino } from 'pino';
import t from 'tap';
import { activeSnapshot, keyIdOf } from '../../src/host/keys.ts';
import { Host } from '../../src/host.ts';
import { randomIds } from '../../src/base/ids.ts';
import { makeKey } from '../../src/access/keys.ts';
import { StoreClock } from '../../src/store/clock.ts';
import { ManualClock } from '../providers/model/provider.ts';
import { key } from '../store/fixtures.ts';
import { Scene, StagedModel, turnMsMax, unreported } from './scene.ts';

/** A process whose own clock is so far ahead of the store's. */
function processOn(scene: Scene, aheadMs: number) {
  const own = new ManualClock();
  own.jump(aheadMs);
  const time = new StoreClock(own);
  time.noteTime(scene.clock.now(), own.monotonic(), own.monotonic());
  const host = new Host(scene.store, time, randomIds(time), pino({ level: 'silent' }), turnMsMax);
  return { host, advance: (ms: number): void => own.advance(ms) };
}

const codeOf = async (call: () => unknown): Promise<string> => {
  try {
    await call();
    return 'ok';
  } catch (error) {
    return (error as { code: string }).code;
  }
};

t.test("sessions and keys expire by the store's clock on processes with skewed clocks", async (t) => {
  const scene = await Scene.open();
  const { workspaceId, assistantId } = scene;
  const processes = [processOn(scene, -60_000), processOn(scene, 60_000)];
  const storeSeconds = scene.clock.now() / 1000;
  const { publicId, text, digest } = makeKey(randomIds(scene.clock));
  const expiresAt = storeSeconds + 10;
  const record = key(workspaceId, {
    id: keyIdOf(publicId),
    publicId,
    digest,
    expiresAt,
    machine: activeSnapshot(expiresAt),
  });
  await scene.store.catalog.create('key', record);
  const wanted = {
    workspaceId,
    assistantId,
    channel: 'api' as const,
    visitor: {},
    metadata: {},
    maxCallSeconds: 10,
    greeting: null,
    remember: null,
  };
  const sessions = await Promise.all(processes.map(({ host }) => host.sessions.create(wanted)));
  for (const { session } of sessions)
    t.match(session, { createdAt: storeSeconds, expiresAt: storeSeconds + 10, lastActivityAt: storeSeconds });

  /** Collects each process's answers to a chat on each session and to a request with the key. */
  const answers = async (): Promise<Set<string>> => {
    const all = processes.flatMap(({ host }) => [
      ...sessions.map(async ({ session }) => {
        const actor = (await host.sessions.of(workspaceId, session.id))!;
        // Refused for its assistant, a chat says that its session is open and begins nothing.
        return codeOf(() => host.turns.begin(actor, { ...chat, assistantRefusal: 'assistant_disabled' }));
      }),
      codeOf(() => host.keys.authenticate(text)),
    ]);
    return new Set(await Promise.all(all));
  };
  for (const { advance } of processes) advance(9_999);
  t.same(await answers(), new Set(['assistant_disabled', 'ok']), 'a millisecond before their time');
  for (const { advance } of processes) advance(1);
  t.same(await answers(), new Set(['session_expired', 'expired_api_key']), 'at their time');
});

const chat = { message: 'Hello', takesSlot: true, remember: null, model: new StagedModel(), reports: unreported };
