/**
 * Random sequences of steps, many of them at once: memory and LMDB behind its journal must answer alike and end up
 * alike. `differential.test.ts` has Redis too, one step at a time.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { JournaledEngine } from '../../src/store/journal.ts';
import { LmdbEngine } from '../../src/store/lmdb.ts';
import { EmbeddedStore } from '../../src/store/embedded.ts';
import { memoryStore } from '../../src/store/memory.ts';
import type { Fence, Message, Session, Store, Turn } from '../../src/store/store.ts';
import { api, at, message, page, snapshot, usageQuery } from './fixtures.ts';

/** Bounds so small that the database takes the journal's rows again and again within a sequence. */
const bounds = { journalRowsMax: 16, journalBytesMax: 1 << 20, journalChunkRows: 5 };
const nowMs = 1_700_000_000_000;
const now = nowMs / 1000;
const workspaceId = 'wks_1';

interface Command {
  readonly verb: 'create' | 'save' | 'begin' | 'append' | 'finish' | 'withdraw' | 'seize' | 'sweep';
  readonly session: number;
  /** Versions are guessed near the truth; so are fences and positions. */
  readonly version: number;
  readonly turn: number;
  readonly epoch: number;
  readonly position: number;
  readonly text: string;
  readonly lapsed: boolean;
}

const command: fc.Arbitrary<Command> = fc.record({
  verb: fc.constantFrom(
    'create',
    'save',
    'begin',
    'begin',
    'append',
    'append',
    'append',
    'finish',
    'withdraw',
    'seize',
    'sweep',
  ),
  session: fc.integer({ min: 0, max: 2 }),
  version: fc.integer({ min: 1, max: 6 }),
  turn: fc.integer({ min: 0, max: 3 }),
  epoch: fc.constantFrom(1, 1, 1, 2),
  position: fc.constantFrom(0, 0, 1, 2, 3),
  text: fc.string({ unit: 'binary', maxLength: 4 }),
  lapsed: fc.boolean(),
});

const session = (each: Command): Session => ({
  id: `ses_${each.session}`,
  workspaceId,
  assistantId: `asst_${each.session % 2}`,
  channel: 'api',
  visitor: {},
  metadata: {},
  maxCallSeconds: 60,
  createdAt: now,
  expiresAt: now + 60,
  lastActivityAt: now - (each.lapsed ? 3_000_000 : 0),
  messageCount: 2 * each.turn,
  machine: snapshot('open', each.text),
});

const turn = (each: Command): Turn => ({
  id: `turn_${each.turn}`,
  sessionId: `ses_${each.session}`,
  messageId: 'msg',
  messageIndex: 2 * each.turn + 1,
  status: 'streaming',
  stopReason: null,
  errorCode: null,
  inputTokens: each.position,
  outputTokens: 1,
  createdAt: now,
  endedAt: null,
});

const fence = ({ epoch }: Command): Fence => ({ epoch, owner: epoch === 1 ? 'first' : 'second' });

function run(store: Store, each: Command): Promise<unknown> {
  const place = { workspaceId, sessionId: `ses_${each.session}`, turnId: `turn_${each.turn}` };
  const said: Message = message({ id: 'msg', content: each.text, turnId: place.turnId });
  const tail = { position: each.position, text: each.text };
  switch (each.verb) {
    case 'create':
      return store.sessions.create({ session: session(each), greeting: null, remember: null, nowMs });
    case 'save':
      return store.sessions.save(session(each), at(each.version));
    case 'begin':
      return store.turns.begin({
        session: session(each),
        ...at(each.version),
        turn: turn(each),
        userMessage: said,
        slot: api(2),
        owner: 'first',
        leaseUntilMs: nowMs + (each.lapsed ? -1 : 1000),
        remember: null,
        nowMs,
      });
    case 'append':
      return store.turns.append({ ...place, fence: fence(each), ...tail });
    case 'finish':
      return store.turns.finish({
        session: session(each),
        ...at(each.version),
        turn: { ...turn(each), status: 'failed' },
        message: said,
        tail,
        fence: fence(each),
        nowMs,
      });
    case 'withdraw':
      return store.turns.withdraw({
        session: session(each),
        ...at(each.version),
        turn: turn(each),
        fence: fence(each),
      });
    case 'seize':
      return store.turns.takeOver(place, 'second', nowMs + 1000, nowMs);
    case 'sweep':
      return store.sweep(nowMs, each.position);
  }
}

/** The answers of groups of steps sent at once, and all that can be read in the end. */
async function trace(store: Store, groups: Command[][]): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (const group of groups)
    answers.push(await Promise.all(group.map((each) => run(store, each).catch((error: Error) => error.message))));
  for (const order of ['asc', 'desc'] as const) {
    const filter = { assistantIds: ['asst_0', 'asst_1'], status: null, activeSince: 0, now };
    answers.push(await store.sessions.list(workspaceId, filter, page({ order, limit: 2 })));
    for (let index = 0; index < 3; index++)
      answers.push(await store.sessions.messages(workspaceId, `ses_${index}`, page({ order })));
  }
  for (let index = 0; index < 3; index++)
    answers.push(await store.sessions.recentMessages(workspaceId, `ses_${index}`, 5, 5, 2));
  answers.push(await store.usage.read(workspaceId, usageQuery(now, now + 1)), await store.turns.inFlight(workspaceId));
  const orphans = await store.turns.orphans(nowMs, 100);
  answers.push(orphans.map(({ sessionId, turnId }) => `${sessionId}/${turnId}`).sort());
  return answers;
}

t.test('memory and LMDB give equal answers to random steps', async (t) => {
  const property = fc.asyncProperty(
    fc.array(fc.array(command, { minLength: 1, maxLength: 6 }), { maxLength: 12 }),
    async (groups) => {
      const path = await mkdtemp(join(tmpdir(), 'parley-store-'));
      const stores = [
        memoryStore(),
        new EmbeddedStore(new JournaledEngine(new LmdbEngine(path), path, { flushes: false, bounds })),
      ];
      try {
        for (const store of stores) await store.open(nowMs);
        const [memory, lmdb] = await Promise.all(stores.map((store) => trace(store, groups)));
        t.strictSame(lmdb, memory);
        return t.passing();
      } finally {
        for (const store of stores) await store.close();
        await rm(path, { recursive: true });
      }
    },
  );
  const seed = Number(process.env['PARLEY_TEST_SEED'] ?? 20_240_607);
  await fc.assert(property, { numRuns: 60, seed });
});
