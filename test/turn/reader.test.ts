import fc from 'fast-check';
import t from 'tap';
import { limits } from '../../src/base/limits.ts';
import { TurnLog, type CallMark, type TurnEnd } from '../../src/turn/log.ts';
import { TurnReader, type Sink } from '../../src/turn/reader.ts';
import { ManualClock } from '../providers/model/provider.ts';

/** A client: takes output, or applies backpressure when the test says so. */
class Client implements Sink {
  readonly deltas: { text: string; position: number }[] = [];
  readonly ends: { terminal: TurnEnd; position: number }[] = [];
  heartbeats = 0;
  cuts = 0;
  slow = false;
  #drain = (): void => {};

  get text(): string {
    return this.deltas.map(({ text }) => text).join('');
  }

  delta(text: string, position: number): boolean {
    this.deltas.push({ text, position });
    return !this.slow;
  }

  mark({ kind, call }: CallMark): boolean {
    this.deltas.push({ text: `[${kind} ${call.id}]`, position: -1 });
    return !this.slow;
  }

  terminal(terminal: TurnEnd, position: number): void {
    this.ends.push({ terminal, position });
  }

  cut(): void {
    this.cuts++;
  }

  heartbeat(): boolean {
    this.heartbeats++;
    return !this.slow;
  }

  onDrain(callback: () => void): void {
    this.#drain = callback;
  }

  drained(): void {
    this.#drain();
  }
}

function store(log: TurnLog, ...pieces: string[]): void {
  for (const piece of pieces) log.append(piece);
  log.commit(log.take()!.pieces);
}

function read(
  log: TurnLog,
  position = 0,
  client = new Client(),
  clock = new ManualClock(),
): { client: Client; reader: TurnReader; clock: ManualClock } {
  const reader = new TurnReader(log, position, client, clock);
  reader.start();
  return { client, reader, clock };
}

t.test("a stream whose turn's end is unknown is cut without an end", async (t) => {
  const log = new TurnLog();
  const { client, clock } = read(log);
  store(log, 'one ');
  log.append('never stored');
  log.cut();
  t.same([client.text, client.ends, client.cuts, clock.timers, log.followed], ['one ', [], 1, 0, false]);
  const later = read(log).client;
  t.same([later.text, later.cuts], ['one ', 1]);
  log.close({ type: 'aborted' });
  log.cut();
  t.same([client.ends, client.cuts], [[], 1]);
});

const points = (text: string): string[] => [...text];

t.test('a reader sees stored output in its order', async (t) => {
  const log = new TurnLog();
  const { client, clock } = read(log);
  log.append('not yet');
  t.same(client.deltas, []);
  log.commit(log.take()!.pieces);
  store(log, '😀');
  t.same(client.deltas, [
    { text: 'not yet', position: 7 },
    { text: '😀', position: 8 },
  ]);
  log.append('never stored');
  log.close({ type: 'aborted' });
  t.same(client.ends, [{ terminal: { type: 'aborted' }, position: 8 }]);
  t.equal(client.deltas.length, 2);
  t.equal(clock.timers, 0, 'nothing is left running');
});

t.test('a slow reader gets the rest later in fewer pieces', async (t) => {
  const log = new TurnLog();
  const { client } = read(log);
  const fast = read(log);
  client.slow = true;
  for (const piece of ['one ', 'two ', 'three ', 'four ']) store(log, piece);
  log.close({ type: 'aborted' });
  t.same(
    client.deltas.map(({ text }) => text),
    ['one '],
  );
  t.equal(client.ends.length, 0, 'the end waits as well');
  t.equal(fast.client.deltas.length, 4, 'nobody else waits for it');
  client.slow = false;
  client.drained();
  t.same(client.deltas.slice(1), [{ text: 'two three four ', position: 19 }]);
  t.equal(client.ends.length, 1);
  client.drained();
  t.equal(client.ends.length, 1);
});

t.test('output stops for a reader that left', async (t) => {
  const log = new TurnLog();
  const { client, reader, clock } = read(log);
  store(log, 'a');
  reader.stop();
  store(log, 'b');
  log.close({ type: 'aborted' });
  client.drained();
  t.same([client.text, client.ends.length, clock.timers], ['a', 0, 0]);
});

t.test('every code point of a long piece can be resumed from', async (t) => {
  const long = 'ab😀é👩‍🚀'.repeat(9000);
  const all = points(long);
  t.ok(long.length > 3 * limits.deltaCharactersMax);
  const log = TurnLog.replay(long, { type: 'aborted' });
  const near = [
    0,
    1,
    2,
    3,
    4,
    5,
    all.length - 1,
    all.length,
    ...[1, 2, 3].flatMap((cut) => Array.from({ length: 9 }, (_, at) => cut * 12_000 + at)),
  ];
  for (const from of near) {
    const { client } = read(log, from);
    const rest = all.slice(from);
    const right =
      client.text === rest.join('') &&
      client.deltas.every(({ text }) => text.isWellFormed() && text.length <= limits.deltaCharactersMax);
    let position = from;
    const counted = client.deltas.every(({ text, position: told }) => told === (position += points(text).length));
    t.ok(right && counted, `from ${from}`);
    t.same(
      client.ends.map(({ position }) => position),
      [all.length],
    );
  }
});

t.test('a reader receives each character once at every cursor, pace and size of pieces', async (t) => {
  const scenario = fc.record({
    pieces: fc.array(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }).map((text) => text.toWellFormed()),
      { minLength: 1, maxLength: 20 },
    ),
    at: fc.nat(),
    slow: fc.array(fc.boolean(), { minLength: 20, maxLength: 20 }),
    before: fc.nat(20),
  });
  const holds = fc.check(
    fc.property(scenario, ({ pieces, at, slow, before }) => {
      const log = new TurnLog();
      const early = pieces.slice(0, before);
      if (early.length > 0) store(log, ...early);
      const from = at % (log.stored + 1);
      const { client } = read(log, from);
      for (const [index, piece] of pieces.slice(before).entries()) {
        client.slow = slow[index]!;
        store(log, piece);
        if (!client.slow) client.drained();
      }
      log.close({ type: 'aborted' });
      client.slow = false;
      client.drained();
      const rest = points(pieces.join('')).slice(from);
      const empty = client.deltas.some(({ text }) => text === '');
      return (
        !empty &&
        client.text === rest.join('') &&
        client.ends.length === 1 &&
        client.ends[0]!.position === from + rest.length
      );
    }),
    { numRuns: 300 },
  );
  t.notOk(holds.failed, fc.defaultReportMessage(holds) ?? 'in every run');
});

t.test('a comment line after every 15 s of silence, and only then', async (t) => {
  const log = new TurnLog();
  const { client, clock } = read(log);
  clock.advance(14_999);
  t.equal(client.heartbeats, 0);
  clock.advance(1);
  t.equal(client.heartbeats, 1);
  clock.advance(10_000);
  store(log, 'a');
  clock.advance(14_000);
  t.equal(client.heartbeats, 1, 'text breaks the silence');
  clock.advance(1000);
  t.equal(client.heartbeats, 2);
  client.slow = true;
  store(log, 'b');
  clock.advance(60_000);
  t.equal(client.heartbeats, 2, 'nothing is piled up for a client that takes nothing');
  client.slow = false;
  client.drained();
  clock.advance(15_000);
  t.equal(client.heartbeats, 3);
});
