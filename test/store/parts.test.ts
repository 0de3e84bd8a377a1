/** The small parts beneath the stores. */
import fc from 'fast-check';
import { Packr } from 'msgpackr';
import t from 'tap';
import { packed, packRow, rowFormat, unpackRow } from '../../src/store/codec.ts';
import { rowShapes, sessionShape } from '../../src/store/shapes.ts';
import { LateSortedMap, SortedMap } from '../../src/store/sorted.ts';
import { codePoints, indexAfter } from '../../src/base/text.ts';

t.test('a sorted map keeps order through insertions and removals', async (t) => {
  const key = fc.stringMatching(/^[a-c]{1,3}$/);
  const command = fc.tuple(fc.constantFrom('set', 'set', 'delete'), key, fc.nat());
  fc.assert(
    fc.property(fc.array(command, { maxLength: 60 }), key, key, (commands, from, to) => {
      const map = new SortedMap<number>();
      const model = new Map<string, number>();
      for (const [verb, name, value] of commands) {
        if (verb === 'set') {
          map.set(name, value);
          model.set(name, value);
        } else {
          map.delete(name);
          model.delete(name);
        }
      }
      const sorted = [...model].sort(([a], [b]) => (a < b ? -1 : 1));
      t.same([...map], sorted);
      const within = sorted.filter(([name]) => name >= from && name < to);
      t.same([...map.range(from, to)], within);
      t.same([...map.range(from, to, true)], within.toReversed());
      t.equal(map.get(from), model.get(from));
      t.equal(map.size, model.size);
      return t.passing();
    }),
    { numRuns: 200, seed: 1 },
  );
});

t.test('a map that is sorted late agrees with one that always is', async (t) => {
  const key = fc.stringMatching(/^[a-c]{1,3}$/);
  const command = fc.oneof(
    fc.tuple(fc.constant('set' as const), key, fc.nat()),
    fc.tuple(fc.constant('range' as const), key, key),
  );
  fc.assert(
    fc.property(fc.array(command, { maxLength: 60 }), (commands) => {
      const late = new LateSortedMap<number>();
      const sorted = new SortedMap<number>();
      for (const [verb, name, value] of commands) {
        if (verb === 'set') for (const map of [late, sorted]) map.set(name, value);
        else
          for (const reverse of [false, true])
            t.same([...late.range(name, value, reverse)], [...sorted.range(name, value, reverse)]);
        t.equal(late.get(name), sorted.get(name));
        t.equal(late.size, sorted.size);
      }
      t.same(
        [...late].sort(([a], [b]) => (a < b ? -1 : 1)),
        [...sorted],
      );
      return t.passing();
    }),
    { numRuns: 200, seed: 1 },
  );
});

t.test('a map that is sorted late keeps its order through many ranges', async (t) => {
  const late = new LateSortedMap<number>();
  const sorted = new SortedMap<number>();
  const name = (index: number): string => String((index * 7919) % 10_007).padStart(6, '0');
  for (let index = 0; index < 3000; index++) {
    for (const map of [late, sorted]) map.set(name(index), index);
    // A few at a time and many, so that runs of every length are merged.
    if (index % 5 !== 0 && index % 1000 > 10) continue;
    const [from, to] = [name(index - (index % 7)), name(index + 13)];
    for (const reverse of [false, true])
      t.strictSame([...late.range(from, to, reverse)], [...sorted.range(from, to, reverse)]);
  }
  t.strictSame([...late.range('', '~')], [...sorted]);
  t.strictSame([...late.range('', '~', true)], [...sorted].reverse());
});

t.test('a sorted map of many entries, inserted in any order', async (t) => {
  const count = 5000;
  const name = (index: number): string => String(index).padStart(6, '0');
  for (const step of [1, 1999, count - 1]) {
    const map = new SortedMap<number>();
    for (let index = 0, at = 0; index < count; index++, at = (at + step) % count) map.set(name(at), at);
    t.same(
      [...map].map(([, value]) => value),
      Array.from({ length: count }, (_, index) => index),
    );
    t.same(
      [...map.range(name(2500), name(2503), true)].map(([, value]) => value),
      [2502, 2501, 2500],
    );
    for (let index = 0; index < count; index += 2) map.delete(name(index));
    t.equal([...map].length, count / 2);
    t.equal(map.get(name(2500)), undefined);
    t.equal(map.get(name(2501)), 2501);
  }
});

t.test('rows come back as they were, whatever their text and bytes', async (t) => {
  const record = {
    text: '👋\u0000é e\u0301',
    bytes: new Uint8Array([0, 255]),
    time: 1_732_181_000_123,
    part: 0.1,
    none: null,
    list: [true, -1],
    deep: { snapshot: { version: 3 } },
  };
  const back = unpackRow<typeof record>(packRow(record));
  t.ok(back.bytes instanceof Uint8Array);
  t.same({ ...back, bytes: [...back.bytes] }, { ...record, bytes: [0, 255] });
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => unpackRow<string>(packRow(text)) === text),
    { seed: 1 },
  );
});

t.test('bytes of a record do not hang on to the row they came from', async (t) => {
  const row = packRow({ bytes: new Uint8Array([1, 2, 3]) });
  const { bytes } = unpackRow<{ bytes: Uint8Array }>(row);
  row.fill(0);
  t.same([...bytes], [1, 2, 3]);
});

t.test('a row of this format is read by its bytes, and one of a later format is refused', async (t) => {
  // [1, {"id": "a", "later": 1}]: as an earlier or later version may have written it, with a field that this one lacks.
  const golden = Buffer.from('920182a26964a161a56c6174657201', 'hex');
  t.equal(unpackRow<{ id: string }>(golden).id, 'a');
  const later = new Packr({ useRecords: false }).pack([rowFormat + 1, {}]);
  t.throws(() => unpackRow(later), { message: /format 3/ });
});

t.test('a row of a shape holds no names, and comes back as it was', async (t) => {
  const machine = { version: 1, state: 'open', context: { expiresAt: 2, endedAt: null, activeTurnId: null } };
  const session = {
    id: 'ses_1',
    workspaceId: 'wks_1',
    assistantId: 'asst_1',
    channel: 'api',
    visitor: { email: 'a@b.example' },
    metadata: { id: 'x' },
    maxCallSeconds: 1,
    createdAt: 1,
    expiresAt: 2,
    lastActivityAt: 1,
    messageCount: 0,
    machine,
  };
  const fence = { epoch: 1, owner: 'o' };
  const message = {
    id: 'msg_1',
    turnId: null,
    role: 'user',
    content: 'Hello',
    status: 'completed',
    stopReason: null,
    errorCode: null,
    createdAt: 1,
  };
  const place = { workspaceId: 'wks_1', sessionId: 'ses_1', turnId: 'turn_1' };
  const flight = { place, fence, leaseUntilMs: 0, slotUntilMs: 0, slotsMax: 0, memory: null, stop: null };
  const turn = {
    id: 'turn_1',
    sessionId: 'ses_1',
    messageId: 'msg_2',
    messageIndex: 1,
    status: 'streaming',
    stopReason: null,
    errorCode: null,
    inputTokens: 0,
    outputTokens: 0,
    createdAt: 1,
    endedAt: null,
  };
  const rows = {
    session: [
      { session, version: 1, withdrawn: null },
      {
        session: { ...session, keyId: null, mark: 'm' },
        version: 2,
        withdrawn: { turnId: 'turn_1', fence, version: 2 },
      },
    ],
    turn: [
      { turn, begun: { fence, version: 2 }, finished: null },
      {
        turn: { ...turn, link: { before: null, taken: [] } },
        begun: { fence, version: 2 },
        finished: { fence, version: 3 },
        claimed: true,
      },
    ],
    message: [message],
    flight: [
      flight,
      { ...flight, stop: 'aborted', slotName: 'api', seizedUntilMs: 7 },
      { ...flight, turn, begun: { fence, version: 2 } },
    ],
  } as const;
  for (const [form, records] of Object.entries(rows)) {
    for (const record of records) {
      const bytes = packed(record, form as keyof typeof rows);
      t.strictSame(unpackRow(bytes), record, form);
      t.ok(bytes.length < 0.75 * packRow(record).length, `${form}: ${bytes.length} bytes`);
    }
  }
  // A field that only a later version knows, at any depth, or of another type.
  for (const later of [
    { ...message, later: 1 },
    { ...rows.turn[0], turn: { ...turn, later: { deep: true } } },
    ...[7, 'x', true, [], ['x']].map((turn) => ({ ...rows.turn[0], turn })),
  ]) {
    t.strictSame(unpackRow(packed(later, 'role' in later ? 'message' : 'turn')), later);
  }
});

t.test('a row of a shape is read by its bytes, also where fields were added to the shape since', async (t) => {
  // [2, 2, ["msg_1", null, "user", "Hi"]]
  const golden = Buffer.from('9302029' + '4a56d73675f31c0a475736572a24869', 'hex');
  t.strictSame(unpackRow(golden), { id: 'msg_1', turnId: null, role: 'user', content: 'Hi' });
  const row = (...parts: unknown[]): Uint8Array => new Packr({ useRecords: false }).pack([2, ...parts]);
  t.throws(() => unpackRow(row(99, [])), { message: /shape 99/ });
  // Fields that a later version has added would be lost with the next write.
  const { names } = rowShapes.message;
  t.throws(
    () =>
      unpackRow(
        row(
          2,
          Array.from({ length: names.length + 1 }, () => 'x'),
        ),
      ),
    { message: new RegExp(`a field after ${names.at(-1)}`) },
  );
  t.throws(() => unpackRow(row(3, [['wks_1', 'ses_1', 'turn_1', 'later']])), { message: /a field after turnId/ });
});

t.test('positions are code points', async (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.nat(20), (text, count) => {
      t.equal(codePoints(text), [...text].length);
      t.equal(text.slice(indexAfter(text, count)), [...text].slice(count).join(''));
      return t.passing();
    }),
    { seed: 1 },
  );
});

t.test('a session that is damaged is exported as it is', async (t) => {
  for (const record of [
    { id: 'ses_1', machine: 5 },
    { id: 'ses_1', machine: { context: ['x'] } },
    { id: 'ses_1', later: 1 },
  ])
    t.strictSame(sessionShape.inOrder(record), record);
  t.same(Object.keys(sessionShape.inOrder({ workspaceId: 'wks_1', id: 'ses_1' })), ['id', 'workspaceId']);
});
