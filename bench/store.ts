/**
 * A store without a server: turns begun, given so many pieces of output and finished, on sessions of their own. Told how many turns over its channel, it tells
 * how many steps that were and how long they took.
 */
import { WheelClock } from '../src/clock.ts';
import { randomIds } from '../src/ids.ts';
import { lmdbStore } from '../src/store/lmdb.ts';
import { memoryStore } from '../src/store/memory.ts';
import { redisStore } from '../src/store/redis.ts';
import type { Store } from '../src/store.ts';
import { api, Scene } from '../test/store/fixtures.ts';

const [where = 'memory:'] = process.argv.slice(2);
const abreast = 64;
const pieces = 8;
/** Creating a session, beginning a turn, its pieces, finishing it. */
const stepsEach = 3 + pieces;

function openStore(): Store {
  const clock = new WheelClock();
  if (where === 'memory:') return memoryStore();
  return where.startsWith('lmdb:') ? lmdbStore(where.slice(5)) : redisStore(where, { clock, ids: randomIds(clock) });
}

const store = openStore();
await store.open(Date.now());

async function turns(count: number): Promise<void> {
  let left = count;
  const scene = new Scene(store, Date.now());
  const run = async (): Promise<void> => {
    while (left-- > 0) {
      const turn = await scene.streaming({ slot: api(abreast) });
      for (let piece = 0; piece < pieces; piece++) await turn.append(piece * 6, 'answer');
      await store.turns.finish(turn.finishStep({ tail: { position: pieces * 6, text: '' } }));
    }
  };
  await Promise.all(Array.from({ length: abreast }, run));
}

process.on('message', (message: { turns?: number }) => {
  const count = message.turns;
  if (count === undefined) return;
  const startedAt = performance.now();
  turns(count).then(
    () => process.send!({ steps: count * stepsEach, seconds: (performance.now() - startedAt) / 1000 }),
    (error) => {
      process.stderr.write(`${String(error)}\n`);
      process.exit(1);
    },
  );
});
process.channel!.ref();
process.send!({ ready: true });
