/**
 * Turns in flight that earlier versions left: these stored the user's message in a separate row, and the earliest of
 * them also the turn and the assistant's message.
 */
import t from 'tap';
import { packed, unpackRow } from '../../src/store/codec.ts';
import type { DumpRow } from '../../src/store/dump.ts';
import { EmbeddedSource } from '../../src/store/embedded/dump.ts';
import type { FlightRow } from '../../src/store/embedded/flights.ts';
import * as keys from '../../src/store/embedded/keys.ts';
import type { StoredTurn } from '../../src/store/embedded/rows.ts';
import { EmbeddedStore } from '../../src/store/embedded.ts';
import { MemoryEngine } from '../../src/store/memory.ts';
import { moveRow } from '../../src/store/moves.ts';
import type { TurnPlace } from '../../src/store/store.ts';
import { move } from './contract/history.ts';
import { page, remembered, Scene, streaming, workspace } from './fixtures.ts';

const nowMs = 1_800_000_000_000;

/** A store that was closed with a turn in flight, which has stored some output. */
async function left() {
  const engine = new MemoryEngine();
  const store = new EmbeddedStore(engine);
  await store.open(nowMs);
  const scene = new Scene(store, nowMs);
  await store.catalog.create('workspace', workspace({ id: scene.workspaceId }));
  const turn = await scene.streaming({ remember: remembered('turn', nowMs + 60_000), move: move(2) });
  await turn.append(0, 'Hé');
  await store.close();
  return { engine, turn };
}

/** Gives the flight the rows that an earlier version wrote: `whole`, one that had the turn in the flight's row. */
async function age(
  engine: MemoryEngine,
  place: TurnPlace,
  { withTurn = true, whole = false }: { withTurn?: boolean; whole?: boolean } = {},
): Promise<void> {
  const { turn, begun, said, move, ...flight } = unpackRow<FlightRow>(engine.get(keys.flight(place))!);
  const row: StoredTurn = { turn, begun, finished: null };
  const { workspaceId, sessionId } = place;
  await engine.write([
    [keys.flight(place), packed(whole ? { ...flight, turn, begun } : flight, 'flight')],
    [keys.message(workspaceId, sessionId, turn.messageIndex - 1), packed(said, 'message')],
  ]);
  if (move) await engine.write([[keys.move('session', workspaceId, sessionId, move[0]), packed(move)]]);
  if (whole) return;
  if (!withTurn) return;
  await engine.write([
    [keys.turn(place), packed(row, 'turn')],
    [keys.message(place.workspaceId, place.sessionId, turn.messageIndex), packed(streaming(turn), 'message')],
  ]);
}

async function dumpOf(engine: MemoryEngine): Promise<DumpRow[]> {
  const source = new EmbeddedSource(engine);
  await source.open();
  const rows: DumpRow[] = [];
  for await (const row of source.rows(nowMs)) rows.push(row);
  await source.close();
  return rows;
}

for (const whole of [false, true])
  t.test(
    `a turn in flight of ${whole ? 'a later' : 'the first'} earlier version is read, exported and sealed like one of this version`,
    async (t) => {
      const { engine, turn } = await left();
      const { place } = turn;
      const exported = await dumpOf(engine);
      t.strictSame(
        exported.map(({ type }) => type),
        ['workspace', 'session', 'history', 'message', 'message', 'turn', 'memory', 'usage', 'usage'],
      );
      await age(engine, place, { whole });
      t.strictSame(await dumpOf(engine), exported, 'an export of the folder as it was left');

      const store = new EmbeddedStore(engine);
      await store.open(nowMs);
      t.teardown(() => store.close());
      t.strictSame(await dumpOf(engine), exported, 'an export after the store was opened');
      t.strictSame(await store.turns.read(place.workspaceId, place.sessionId, place.turnId), turn.step.turn);
      const { items } = await store.sessions.messages(place.workspaceId, place.sessionId, page({ order: 'desc' }));
      t.strictSame(items, [streaming(turn.step.turn, 'Hé'), turn.step.userMessage]);
      t.strictSame(await store.turns.orphans(nowMs, 10), [place]);
      const fence = await store.turns.takeOver(place, 'later', nowMs + 1000, nowMs);
      t.strictSame(
        await store.turns.finish(
          turn.finishStep({
            fence: { epoch: fence!.epoch, owner: fence!.owner },
            tail: { position: 2, text: '!' },
            move: move(3),
          }),
        ),
        { outcome: 'finished', version: 3 },
      );
      t.equal(await store.turns.output(place), 'Hé!');
      for (const order of ['asc', 'desc'] as const) {
        const said = (await store.sessions.messages(place.workspaceId, place.sessionId, page({ order }))).items.map(
          ({ role, content }) => `${role}: ${content}`,
        );
        t.strictSame(order === 'asc' ? said : said.reverse(), ['user: What is it?', 'assistant: Hé!']);
      }
      t.strictSame(
        (await store.history.read('session', place.workspaceId, place.sessionId)).map(({ seq }) => seq),
        [2, 3],
      );
    },
  );

t.test('a turn in flight has one row, whichever version began it', async (t) => {
  const { engine, turn } = await left();
  const { place } = turn;
  const own = (): unknown[] =>
    [keys.turn(place), keys.message(place.workspaceId, place.sessionId, turn.step.turn.messageIndex)].map((key) =>
      engine.get(key),
    );
  t.strictSame(own(), [undefined, undefined]);
  await age(engine, place);
  const store = new EmbeddedStore(engine);
  await store.open(nowMs);
  t.strictSame(own(), [undefined, undefined]);
  await store.close();
});

t.test('a flight of an earlier version without its turn is removed', async (t) => {
  const { engine, turn } = await left();
  await age(engine, turn.place, { withTurn: false });
  const store = new EmbeddedStore(engine);
  await store.open(nowMs);
  t.teardown(() => store.close());
  t.strictSame(await store.turns.orphans(nowMs + 1_000_000, 10), []);
  t.equal(await store.turns.read(turn.place.workspaceId, turn.place.sessionId, turn.place.turnId), null);
});

t.test('the steps of a turn of an earlier version, which have a row of their own, are read and exported', async (t) => {
  const { engine, turn } = await left();
  const { place } = turn;
  const { workspaceId, sessionId } = place;
  const { move: begun } = unpackRow<FlightRow>(engine.get(keys.flight(place))!);
  const store = new EmbeddedStore(engine);
  await store.open(nowMs);
  t.teardown(() => store.close());
  const fence = (await store.turns.takeOver(place, 'later', nowMs + 1000, nowMs))!;
  await store.turns.finish(
    turn.finishStep({ fence: { epoch: fence.epoch, owner: fence.owner }, tail: { position: 2, text: '!' } }),
  );
  const { moves, ...row } = unpackRow<StoredTurn>(engine.get(keys.turn(place))!);
  t.strictSame(moves, { begun }, 'as this version keeps them');
  const ended = moveRow(move(3));
  await engine.write([
    [keys.turn(place), packed(row, 'turn')],
    [keys.move('session', workspaceId, sessionId, 3), packed({ begun, ended }, 'moves')],
  ]);
  t.strictSame(
    (await store.history.read('session', workspaceId, sessionId)).map(({ seq }) => seq),
    [2, 3],
  );
  const histories = (await dumpOf(engine)).filter((row) => row.type === 'history' && row.kind === 'session');
  t.strictSame(
    histories.map((row) => row.type === 'history' && row.moves.map(({ seq }) => seq)),
    [[2, 3]],
  );
});
