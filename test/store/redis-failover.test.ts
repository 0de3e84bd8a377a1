/** A primary of the cluster killed under load: much may be refused and little may be lost, but nothing may be mixed. */
import t from 'tap';
import type { Session, Store } from '../../src/store.ts';
import { StoreUnavailable } from '../../src/store.ts';
import { page, Scene, snapshot } from './fixtures.ts';
import { RedisCluster, whyNoRedis } from './redis-server.ts';
import { openStore } from './redis-stores.ts';

const skip = whyNoRedis() ?? false;

/** What one session's speaker was told, in a workspace of its own and so on a shard of its own. */
class Speaker {
  readonly scene: Scene;
  session: Session | null = null;
  acknowledged = 0;
  refused = 0;

  constructor(store: Store) {
    this.scene = new Scene(store, Date.now());
  }

  /** One turn after the other until told to stop; a refused one is left to its lease. */
  async speak(ended: () => boolean): Promise<void> {
    while (!ended()) {
      try {
        await this.#turn();
        this.acknowledged++;
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        this.refused++;
        this.session = null;
      }
    }
  }

  async #turn(): Promise<void> {
    const { scene } = this;
    this.session ??= await scene.created();
    const version = 1 + this.session.messageCount;
    const turn = await scene.begun(this.session, version, { turnsInFlightMax: 1000 });
    const words = `${turn.place.turnId} `;
    for (let count = 0; count < 3; count++) await turn.append(count * words.length, words);
    const answer = await scene.store.finishTurn(turn.finishStep());
    if (answer.outcome !== 'finished') throw new StoreUnavailable(answer.outcome);
    this.session = turn.finishStep().session;
  }
}

/** What is wrong with the transcripts of a workspace: each answer must be made of its own turn's words alone, and whole if finished. */
async function mixed({ store, workspaceId, ...scene }: Scene): Promise<string[]> {
  const wrong: string[] = [];
  const { items } = await store.sessions(workspaceId, { assistantIds: null, status: null, activeSince: 0, now: scene.now }, page());
  for (const session of items) {
    const { items: messages } = await store.messages(workspaceId, session.id, page());
    if (messages.length !== Math.min(100, session.messageCount)) wrong.push(`${session.id}: ${messages.length} of ${session.messageCount} messages`);
    for (const { role, status, content, turnId } of messages) {
      if (role === 'user') continue;
      const whole = `${turnId} `.repeat(3);
      if (status === 'streaming' ? !whole.startsWith(content) : content !== whole) wrong.push(`${turnId}: ${status} ${content}`);
    }
  }
  return wrong;
}

t.test('a cluster', { skip }, async (t) => {
  const cluster = await RedisCluster.start();
  t.teardown(() => cluster.stop());

  await t.test('a replicated step is acknowledged by primary and replica', async (t) => {
    const { store, dispose } = await openStore(cluster.url, { durability: 'replicated' });
    t.teardown(dispose);
    const turn = await new Scene(store, Date.now()).streaming();
    await turn.append(0, 'abc');
    t.same(await store.finishTurn(turn.finishStep({ session: { ...turn.step.session, machine: snapshot('open') } })), { outcome: 'finished', version: 3 });
    t.equal(await store.output(turn.place), 'abc');
  });

  await t.test('a primary is killed', async (t) => {
    const { store, dispose } = await openStore(cluster.url);
    t.teardown(dispose);
    const speakers = Array.from({ length: 24 }, () => new Speaker(store));
    let ended = false;
    const all = Promise.all(speakers.map((speaker) => speaker.speak(() => ended)));
    const spoken = (): boolean => speakers.every(({ acknowledged }) => acknowledged > 2);
    while (!spoken()) await store.ping();
    await (await cluster.primaries())[0]!.kill();
    // Every speaker is heard again: those whose shard was lost as well.
    const counts = speakers.map(({ acknowledged, refused }) => ({ acknowledged, refused }));
    const again = (): boolean => speakers.some(({ refused }, index) => refused > counts[index]!.refused) && speakers.every(({ session, acknowledged }, index) => session !== null && acknowledged > counts[index]!.acknowledged);
    const killedAt = performance.now();
    while (!again()) await store.ping().catch(() => {});
    t.comment(`all speak again after ${Math.round(performance.now() - killedAt)} ms`);
    ended = true;
    await all;
    for (const { scene } of speakers) t.same(await mixed(scene), []);
    t.comment(`${speakers.reduce((sum, { acknowledged }) => sum + acknowledged, 0)} turns acknowledged, ${speakers.reduce((sum, { refused }) => sum + refused, 0)} refused`);
  });
});
