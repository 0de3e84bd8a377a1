/** A chat retried under its `Idempotency-Key`: its refusals, and the number of reads of the store (contract 6). */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import t from 'tap';
import { chat } from '../../src/http/handlers/chat.ts';
import { limits } from '../../src/base/limits.ts';
import type { KeyCaller, Request } from '../../src/http/request.ts';
import { wrapStore, type AnyStep, type Steps } from '../../src/store/steps.ts';
import { pass, Scene, withSteps } from '../host/scene.ts';
import { remoteBegunMs } from '../../src/turn/remote-turns.ts';

/** A host whose store notes which of its steps are called, as one of several on it or alone. */
async function openNoting(shared: boolean): Promise<{ scene: Scene; asked: string[] }> {
  const plain = await Scene.open();
  const asked: string[] = [];
  const store = withSteps(plain.store, { leaseMs: shared ? limits.leaseMs : null });
  const noting =
    (name: string, plainly: AnyStep): AnyStep =>
    (...given) => (asked.push(name), plainly(...given));
  return { scene: plain.beside(wrapStore(store, noting)), asked };
}

/** The request of a chat; `hangs`: to a model that says nothing. */
function requestOf(
  scene: Scene,
  sessionId: string,
  idempotencyKey: string | null,
  { draining = false, hangs = false } = {},
) {
  const model = {
    provider: 'scripted',
    needsCredential: false,
    start: (_: unknown, sink: { text(piece: string): void; end(): void }) => {
      if (!hangs) sink.text('one');
      if (!hangs) sink.end();
      return { cancel: () => {} };
    },
  };
  const silent = { inc: () => {}, observe: () => {} };
  return {
    caller: {
      kind: 'key',
      principal: {
        workspaceId: scene.workspaceId,
        id: 'key_1',
        kind: 'key',
        name: 'Key',
        channel: 'api',
        assistantIds: null,
      },
    },
    params: { id: sessionId },
    body: { message: 'Hello' },
    json: { message: 'Hello' },
    idempotencyKey,
    services: {
      host: scene.host,
      store: scene.store,
      clock: scene.clock,
      models: new Map([['scripted', model]]),
      metrics: { turns: silent, firstOutput: silent },
      draining,
    },
  };
}

const ask = (request: object) => chat(request as Request<KeyCaller, unknown, { message: string }>);

/** Sends a message as the API does; resolves with the turn's id and whether it was there before. */
async function send(
  scene: Scene,
  sessionId: string,
  idempotencyKey: string | null,
  draining = false,
): Promise<[turnId: string, replayed: boolean]> {
  const { headers } = await ask(requestOf(scene, sessionId, idempotencyKey, { draining }));
  return [String(headers!['x-turn-id']), headers!['idempotent-replayed'] === 'true'];
}

const count = (asked: readonly string[], verb: string): number => asked.filter((one) => one === verb).length;

for (const shared of [false, true]) {
  t.test(
    `an earlier result is looked up once, and only for a request with a key, ${shared ? 'on a shared store' : 'alone on its store'}`,
    async (t) => {
      const { scene, asked } = await openNoting(shared);
      const { id } = await scene.session();
      const looks = async (run: () => Promise<unknown>): Promise<number[]> => {
        asked.length = 0;
        await run();
        return [count(asked, 'remembered'), count(asked, 'beginTurn')];
      };
      t.same(await looks(() => send(scene, id, null)), [0, 1], 'without the header');
      t.same(await looks(() => send(scene, id, 'once')), [0, 1], 'the first time');
      // A turn that another process may have run is joined once that process surely knows how it ended.
      await pass(scene, 2 * remoteBegunMs);
      t.same(
        await looks(() => send(scene, id, 'once')),
        [0, 1],
        'a repeat, which the step that would begin its turn finds',
      );
      t.same(await looks(() => send(scene, id, 'once', true)), [1, 0], 'a repeat during a drain');
      t.same(
        await looks(() => t.rejects(send(scene, id, null, true), { code: 'api_error', seconds: 5 })),
        [0, 0],
        'new work during a drain',
      );
      await scene.store.catalog.remove('assistant', scene.workspaceId, scene.assistantId);
      scene.host.assistants.population.discard(scene.assistantId);
      t.same(await looks(() => send(scene, id, 'once')), [1, 0], 'a repeat to an assistant that was deleted');
      t.same(await looks(() => t.rejects(send(scene, id, null), { code: 'assistant_not_found' })), [0, 0]);
      scene.host.close();
    },
  );
}

t.test('a repeat on an expired session gets the earlier turn', async (t) => {
  const { scene } = await openNoting(true);
  const { id } = await scene.session({ maxCallSeconds: 10 });
  const [turnId] = await send(scene, id, 'once');
  await pass(scene, 10_000);
  t.same(await send(scene, id, 'once'), [turnId, true]);
  await t.rejects(send(scene, id, null), { code: 'session_expired' });
  t.same(await send(scene, id, 'once'), [turnId, true], 'also once it is stored as expired');
  scene.host.close();
});

t.test(
  'a repeat that comes while the first request begins its turn joins that turn, though a drain begins',
  async (t) => {
    const plain = await Scene.open();
    let begin = (): void => {};
    const held = new Promise<void>((resolve) => (begin = resolve));
    let begins = (): void => {};
    const beginning = new Promise<void>((resolve) => (begins = resolve));
    let tries = 0;
    const beginTurn: Steps['beginTurn'] = async (step) => {
      begins();
      if (tries++ === 0) await held;
      return plain.store.turns.begin(step);
    };
    const scene = plain.beside(withSteps(plain.store, { beginTurn }));
    const { id } = await scene.session();
    const first = send(scene, id, 'once');
    await beginning;
    const repeat = send(scene, id, 'once', true);
    await turnOfTheLoop();
    begin();
    const [turnId] = await first;
    t.same(await repeat, [turnId, true]);
    scene.host.close();
  },
);

t.test('a chat that still waits for its first words at the end of a drain is refused as new work is', async (t) => {
  const scene = await Scene.open();
  const { id } = await scene.session();
  const request = requestOf(scene, id, null, { hangs: true });
  const refused = t.rejects(ask(request), { code: 'api_error', status: 503, seconds: 5 });
  while (scene.host.turns.inFlight === 0) await turnOfTheLoop();
  request.services.draining = true;
  const drained = scene.host.turns.drain(1000, 5000);
  await pass(scene, 1000);
  await refused;
  await drained;
  t.same(await scene.transcript(id), [], 'and leaves nothing behind');
  scene.host.close();
});
