/** A process that prints each acknowledgement of its store as a line, until it is killed: see `lmdb.test.ts`. */
import { lmdbStore } from '../../src/store/lmdb.ts';
import { Scene } from './fixtures.ts';

const [path, durability] = process.argv.slice(2) as [string, 'committed' | 'flushed'];
const store = lmdbStore(path, { durability });
await store.open(Date.now());

/** Resolves once the pipe has taken the line: its reader may be slower than the store. */
const tell = (...words: unknown[]): Promise<void> =>
  new Promise((resolve) => process.stdout.write(`${words.join(' ')}\n`, () => resolve()));

await tell('open');

async function converse(): Promise<void> {
  for (;;) {
    const scene = new Scene(store, Date.now());
    const turn = await scene.streaming();
    const { workspaceId, sessionId, turnId } = turn.place;
    for (let position = 0; position < 20; position += 2) {
      await turn.append(position, '👋x');
      await tell(workspaceId, sessionId, turnId, position + 2, 'streaming');
    }
    await store.turns.finish(turn.finishStep({ tail: { position: 20, text: '👋x' } }));
    await tell(workspaceId, sessionId, turnId, 22, 'finished');
  }
}

await Promise.all([converse(), converse(), converse()]);
