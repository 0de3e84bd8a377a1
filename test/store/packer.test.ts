/** The packer writes the bytes that msgpackr would, so msgpackr reads them. */
import fc from 'fast-check';
import { Packr } from 'msgpackr';
import t from 'tap';
import { packed, packRow, unpackRow } from '../../src/store/codec.ts';
import { packer } from '../../src/store/packer.ts';

const packr = new Packr({ useRecords: false });
const hex = (bytes: Uint8Array | null): string => (bytes === null ? 'nothing' : Buffer.from(bytes).toString('hex'));

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary', maxLength: 100 }),
  // Halves of surrogate pairs, too.
  fc.array(fc.nat(0xffff), { maxLength: 80 }).map((codes) => String.fromCharCode(...codes)),
  fc
    .tuple(
      fc.constantFrom(30, 31, 32, 63, 64, 85, 255, 256, 21_845, 65_535, 65_536),
      fc.constantFrom('x', 'é', '€', '👋'),
    )
    .map(([length, character]) => character.repeat(length)),
);
const edges = [
  0,
  -0,
  31,
  32,
  63,
  64,
  127,
  128,
  255,
  256,
  65_535,
  65_536,
  2 ** 31,
  2 ** 32 - 1,
  2 ** 32,
  2 ** 53 - 1,
  -1,
  -32,
  -33,
  -128,
  -129,
  -32_768,
  -32_769,
  -(2 ** 31),
  -(2 ** 31) - 1,
  0.1,
  NaN,
  Infinity,
];
const leaf = fc.oneof(
  text,
  fc.constantFrom(...edges),
  fc.double(),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.constant(undefined),
);
const value = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    leaf,
    fc.array(tie('value')),
    fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('constructor', 'hasOwnProperty', '7')), tie('value'), {
      noNullPrototype: true,
    }),
  ),
})).value;

t.test('packed values have the bytes of msgpackr', async (t) => {
  fc.assert(
    fc.property(value, (value) => {
      t.equal(hex(packer.pack(value)), hex(packr.pack(value)));
      return t.passing();
    }),
    { numRuns: 2000, seed: 1 },
  );
  for (const length of [15, 16, 65_535, 65_536]) {
    const list = Array.from({ length }, (_, index) => index);
    t.equal(hex(packer.pack(list)), hex(packr.pack(list)), `${length} items`);
    if (length > 65_535) continue;
    const record = Object.fromEntries(list.map((name) => [`n${name}`, name]));
    t.equal(hex(packer.pack(record)), hex(packr.pack(record)), `${length} fields`);
  }
});

t.test('values of other kinds are left to msgpackr, at any depth', async (t) => {
  for (const other of [
    new Uint8Array([1, 255]),
    new Date(0),
    new Map([[1, 2]]),
    2n ** 40n,
    Object.assign(Object.create(null) as object, { a: 1 }),
  ]) {
    t.equal(packer.pack([1, { other }]), null);
    t.strictSame(unpackRow(packRow({ text: 'x', other })), packr.unpack(packr.pack({ text: 'x', other })));
    t.equal(packer.packFields([1], { a: 'x', b: other }, { names: ['a', 'b'], within: [null, null] }), null);
  }
});

t.test('fields have the bytes of a list of their values', async (t) => {
  const inner = { names: ['epoch', 'owner'], within: [null, null] };
  const names = { names: ['id', 'fence', 'note', 'later'], within: [null, inner, null, null] };
  const fence = { epoch: 1, owner: 'o' };
  const listed = (record: object): string => hex(packer.packFields([2, 300], record, names));
  for (const [record, values] of [
    [{ id: 'a', fence, note: { deep: [1] }, later: false }, ['a', [1, 'o'], { deep: [1] }, false]],
    [{ later: 1, fence, id: 'a' }, ['a', [1, 'o'], undefined, 1]],
    [{ id: 'a', fence: null, note: undefined }, ['a', null]],
    [{ id: 'a', fence: { owner: 'o' } }, ['a', [undefined, 'o']]],
    [{ id: 'a', fence: {} }, ['a', []]],
    [{}, []],
  ] as const) {
    t.equal(listed(record), hex(packr.pack([2, 300, values])), JSON.stringify(record));
  }
  for (const record of [
    { id: 'a', more: 1 },
    { id: 'a', fence: { ...fence, more: 1 } },
    { id: 'a', fence: 7 },
    { id: 'a', fence: [1, 'o'] },
  ])
    t.equal(listed(record), 'nothing', JSON.stringify(record));
  t.not(listed({ id: 'a', more: undefined }), 'nothing', 'a field that is undefined is none');
  for (const record of [7, null, ['a']]) t.equal(packer.packFields([2], record, names), null);
});

t.test('lists of texts have numbers as digits, bytes as they are, and no half of a surrogate pair', async (t) => {
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          text,
          fc.integer(),
          text.map((text) => Buffer.from(text)),
        ),
        { maxLength: 40 },
      ),
      (values) => {
        const sent = values.map((value) =>
          typeof value === 'object' ? value.toString() : Buffer.from(String(value)).toString(),
        );
        t.strictSame(packr.unpack(packer.packTexts([values, [], values])), [sent, [], sent]);
        return t.passing();
      },
    ),
    { seed: 1 },
  );
  const bytes = Buffer.from([0, 0xff, 0xc1]);
  t.equal(hex(packer.packTexts([[bytes]])), `9191a3${hex(bytes)}`, 'bytes that are no text');
  t.equal(hex(packer.packField('mark', 'm')), hex(Buffer.concat([packr.pack('mark'), packr.pack('m')])));
});

t.test('a row keeps little more memory than its bytes, however long it is', async (t) => {
  for (const length of [100, 5000, 20_000, 1_000_000]) {
    const row = packer.pack('x'.repeat(length))!;
    t.ok(
      row.buffer.byteLength <= Math.max(16 * 1024, row.length + 1024),
      `${length} characters in ${row.buffer.byteLength} bytes`,
    );
    t.ok(packer.pack('x')!.buffer.byteLength <= 16 * 1024, 'nor does the next one');
  }
});

t.test('rows do not share bytes, whatever was packed between them', async (t) => {
  const records = Array.from({ length: 3000 }, (_, index) => ({
    id: `msg_${index}`,
    turnId: null,
    role: 'user',
    content: 'x'.repeat((index * 37) % 4000),
    status: 'completed',
    stopReason: null,
    errorCode: null,
    createdAt: index,
  }));
  const rows = records.map((record, index) => {
    // A record that the packer refuses leaves nothing behind.
    if (index % 3 === 0) packer.pack([record, new Map()]);
    return index % 2 === 0 ? packed(record, 'message') : packRow(record);
  });
  for (const [index, row] of rows.entries()) t.strictSame(unpackRow(row), records[index]);
});
