/**
 * A store without a server: turns begun, given some pieces of output and finished, each on a new session, with the
 * steps in the sessions' history or without. Gets the number of turns over its channel, and reports the number of steps
 * and their time.
 */
import { WheelClock } from '../src/base/clock.ts';
import { randomIds } from '../src/base/ids.ts';
import { lmdbStore } from '../src/store/lmdb.ts';
import { memoryStore } from '../src/store/memory.ts';
import { redisStore } from '../src/store/redis.ts';
import type { Move, Store } from '../src/store/store.ts';
import { api, Scene } from '../test/store/fixtures.ts';

const [where = 'memory:'] = process.argv.slice(2);
const abreast = 64;
/** The steps of a turn: creating a session, beginning the turn, its pieces, finishing it. */
const stepsEach = (pieces: number): number => 3 + pieces;

/** A step in a session's history, as a turn's steps have one. */
const moveAt = (seq: number, type: 'chat' | 'finished', turnId: string): Move => ({
  seq,
  atMs: Date.now(),
  version: 1,
  event: { type, at: Date.now(), turnId } as Move['event'],
  from: type === 'chat' ? 'open' : 'streaming',
  to: type === 'chat' ? 'streaming' : 'open',
  outcomes: [],
  cause: {
    requestId: 'req_00000000000000000000000000',
    by: { kind: 'key', id: 'key_00000000000000000000000000', name: 'bench' },
  },
  snapshot: null,
});

function openStore(): Store {
  const clock = new WheelClock();
  if (where === 'memory:') return memoryStore();
  return where.startsWith('lmdb:') ? lmdbStore(where.slice(5)) : redisStore(where, { clock, ids: randomIds(clock) });
}

const store = openStore();
await store.open(Date.now());

interface Wanted {
  readonly turns: number;
  readonly pieces: number;
  readonly history: boolean;
}

async function turns({ turns: count, pieces, history }: Wanted): Promise<void> {
  let left = count;
  const scene = new Scene(store, Date.now());
  const run = async (): Promise<void> => {
    while (left-- > 0) {
      const turn = await scene.streaming({
        slot: api(abreast),
        ...(history && { move: moveAt(2, 'chat', 'turn_00000000000000000000000000') }),
      });
      for (let piece = 0; piece < pieces; piece++) await turn.append(piece * 6, 'answer');
      await store.turns.finish(
        turn.finishStep({
          tail: { position: pieces * 6, text: 'answer' },
          ...(history && { move: moveAt(3, 'finished', turn.place.turnId) }),
        }),
      );
    }
  };
  await Promise.all(Array.from({ length: abreast }, run));
}

process.on('message', (message: Partial<Wanted>) => {
  if (message.turns === undefined) return;
  const wanted = message as Wanted;
  const startedAt = performance.now();
  turns(wanted).then(
    () =>
      process.send!({
        steps: wanted.turns * stepsEach(wanted.pieces),
        seconds: (performance.now() - startedAt) / 1000,
      }),
    (error) => {
      process.stderr.write(`${String(error)}\n`);
      process.exit(1);
    },
  );
});
process.channel!.ref();
process.send!({ ready: true });
