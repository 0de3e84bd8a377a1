import t from 'tap';
import { fields, oneLine, printable, table, time } from '../../src/cli/output.ts';

t.test('tables are aligned, numbers to the right, every row one line', async (t) => {
  const text = table(
    [{ title: 'NAME' }, { title: 'COUNT', right: true }, { title: 'NOTE' }],
    [
      ['a', '7', ''],
      ['日本', '1234567', 'two\nlines'],
      ['🙂 é', '10', 'x'],
    ],
  );
  t.equal(text, ['NAME    COUNT  NOTE', 'a           7  -', '日本  1234567  two lines', '🙂 é       10  x'].join('\n'));
  t.equal(table([{ title: 'ID' }], []), 'ID');
});

t.test('fields are aligned, and lines are indented under their value', async (t) => {
  t.equal(
    fields([
      ['name', 'demo'],
      ['system prompt', 'one\ntwo'],
      ['empty', ''],
    ]),
    'name           demo\nsystem prompt  one\n               two\nempty          -',
  );
});

t.test('output prints times in UTC', async (t) => {
  t.equal(time(1767225600), '2026-01-01 00:00:00Z');
  t.equal(time(null), '-');
});

t.test('text from elsewhere does not control the terminal', async (t) => {
  t.equal(printable('a\u001b[31mb\u0007\u009b2Jc\r\nd\te\rf'), 'a[31mb2Jc\nd\tef');
  t.equal(printable('safe\u202egnp.exe'), 'safegnp.exe');
  t.equal(oneLine(' a\n\tb  c '), 'a b c');
});
