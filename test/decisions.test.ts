/** The decisions (`docs/decisions`): each has a date and a status, and the index lists them as they are. */
import { readFileSync, readdirSync } from 'node:fs';
import t from 'tap';

const folder = new URL('../docs/decisions/', import.meta.url);
const names = readdirSync(folder).filter((name) => name !== 'README.md');

const linesMax = 30;

const decisions = names.toSorted().map((name) => {
  const text = readFileSync(new URL(name, folder), 'utf8');
  const [, title, date, status] = /^# (.+)\n\nDate: (\d{4}-\d{2}-\d{2}) · Status: (.+)\n\n\S/.exec(text) ?? [];
  return { name, title, date, status, lines: text.split('\n').length - 1 };
});

t.test(`each decision has a title, a date and a status, in at most ${linesMax} lines`, async (t) => {
  for (const { name, title, lines } of decisions) {
    t.match(name, /^\d{4}-[a-z0-9-]+\.md$/);
    t.ok(title, name);
    t.ok(lines <= linesMax, `${name}: ${lines} lines`);
  }
});

t.test('decisions are numbered in sequence, by date', async (t) => {
  t.same(
    decisions.map(({ name }) => Number(name.slice(0, 4))),
    decisions.map((_, index) => index + 1),
  );
  const dates = decisions.map(({ date }) => date);
  t.same(
    dates,
    dates.toSorted((one, other) => (one! < other! ? -1 : 1)),
  );
});

t.test('a status is current, or names the decision that superseded this one', async (t) => {
  for (const { name, status } of decisions) {
    const [, successor] = /^superseded by \[\d{4}\]\((.+)\)$/.exec(status ?? '') ?? [];
    t.ok(status === 'current' || (successor !== undefined && names.includes(successor)), `${name}: ${status}`);
  }
});

t.test('the index lists each decision with its date and status', async (t) => {
  const rows = readFileSync(new URL('README.md', folder), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| ['));
  t.same(
    rows,
    decisions.map(
      ({ name, title, date, status }) => `| [${name.slice(0, 4)}](${name}) | ${title} | ${date} | ${status} |`,
    ),
  );
});
