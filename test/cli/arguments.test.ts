import t from 'tap';
import {
  decimal,
  gather,
  moment,
  pairs,
  versionNumber,
  versionOrDraft,
  visitorField,
  wholeNumber,
} from '../../src/cli/arguments.ts';

t.test('whole numbers keep their bounds', async (t) => {
  const parse = wholeNumber(1, 100);
  t.equal(parse('1'), 1);
  t.equal(parse('100'), 100);
  for (const text of ['0', '101', '-1', '1.5', '1e1', '', ' 1', 'x'])
    t.throws(() => parse(text), { message: 'It must be a whole number from 1 to 100.' }, text);
  const share = decimal(0, 2);
  t.equal(share('0.7'), 0.7);
  for (const text of ['', ' ', 'x', 'Infinity', '-0.1', '2.1'])
    t.throws(() => share(text), { message: 'It must be a number from 0 to 2.' }, text);
  t.equal(versionNumber('12'), 12);
  t.equal(versionOrDraft('draft'), 'draft');
  for (const text of ['', '0', '1.5', 'x', '1234567890']) {
    t.throws(() => versionNumber(text), { message: 'It must be the number of a version.' }, text);
    t.throws(() => versionOrDraft(text), { message: 'It must be the number of a version, or draft.' }, text);
  }
});

t.test('a moment is a span, a date or Unix seconds', async (t) => {
  const now = 1_767_225_600; // 2026-01-01T00:00:00Z
  t.equal(moment('--at', '90s', now), now + 90);
  t.equal(moment('--at', '2m', now), now + 120);
  t.equal(moment('--at', '24h', now), now + 86_400);
  t.equal(moment('--at', '30d', now), now + 30 * 86_400);
  t.equal(moment('--at', '1w', now, true), now - 7 * 86_400);
  t.equal(moment('--at', '1800000000', now), 1_800_000_000);
  t.equal(moment('--at', '2026-01-02', now), now + 86_400);
  t.equal(moment('--at', '2026-01-01T00:01', now), now + 60, 'without a zone it is UTC');
  t.equal(moment('--at', '2026-01-01 00:01:30', now), now + 90);
  t.equal(moment('--at', '2026-01-01T01:00:00+01:00', now), now);
  for (const text of ['', 'tomorrow', '2026-13-01', '5y', '-1d']) {
    t.throws(
      () => moment('--at', text, now),
      { message: `--at must be a span such as 30d, a date such as 2026-01-31, or Unix seconds, not "${text}".` },
      text,
    );
  }
});

t.test('pairs, and flags that are given several times', async (t) => {
  t.strictSame(gather('b', gather('a')), ['a', 'b']);
  t.strictSame(pairs('--visitor', ['a=1', 'b=x=y', 'c=', 'a=2']), { a: '2', b: 'x=y', c: '' });
  for (const text of ['a', '=1'])
    t.throws(() => pairs('--visitor', [text]), { message: `--visitor must be name=value, not "${text}".` });
});

t.test('visitor fields are parsed from NAME:TYPE:required:LABEL', async (t) => {
  t.strictSame(visitorField('name'), { name: 'name', type: 'text', required: false, label: 'name' });
  t.strictSame(visitorField('age:number'), { name: 'age', type: 'number', required: false, label: 'age' });
  t.strictSame(visitorField('email:email:required:Your e-mail: work'), {
    name: 'email',
    type: 'email',
    required: true,
    label: 'Your e-mail: work',
  });
  t.strictSame(visitorField('name:required'), { name: 'name', type: 'text', required: true, label: 'name' });
  t.strictSame(visitorField('name:Your name'), { name: 'name', type: 'text', required: false, label: 'Your name' });
  t.throws(() => visitorField(':email'), { message: '--visitor-field must begin with a name, not ":email".' });
});
