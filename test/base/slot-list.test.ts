/** The list of objects in flight. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { SlotList, type SlotListItem } from '../../src/base/slot-list.ts';

interface Named extends SlotListItem {
  readonly name: string;
}

const named = (name: string): Named => ({ name, slot: -1 });
const namesOf = (members: SlotList<Named>): string =>
  members
    .all()
    .map(({ name }) => name)
    .sort()
    .join('');

t.test('members are added and removed, in any order', async (t) => {
  const members = new SlotList<Named>();
  const [a, b, c, d] = [named('a'), named('b'), named('c'), named('d')];
  for (const member of [a, b, c, d]) members.add(member);
  t.equal(namesOf(members), 'abcd');
  for (const [member, left] of [
    [b, 'acd'],
    [d, 'ac'],
    [a, 'c'],
    [c, ''],
  ] as const) {
    members.delete(member);
    t.equal(namesOf(members), left);
    t.equal(members.size, left.length);
  }
  members.add(b);
  t.equal(namesOf(members), 'b');
});

t.test('a member added again is one member, and an object that is none is not removed', async (t) => {
  const [members, others] = [new SlotList<Named>(), new SlotList<Named>()];
  const [a, b] = [named('a'), named('b')];
  members.add(a);
  members.add(a);
  others.add(b);
  members.delete(b);
  members.delete(named('c'));
  t.equal(namesOf(members), 'a');
  t.equal(namesOf(others), 'b');
  members.delete(a);
  members.delete(a);
  t.equal(members.size, 0);
});

t.test('an array of all members stays as it is', async (t) => {
  const members = new SlotList<Named>();
  members.add(named('a'));
  const all = members.all();
  all.forEach((member) => members.delete(member));
  t.equal(all.length, 1);
  t.equal(members.size, 0);
});

/**
 * Prints how many bytes of each object of 1 KB that was a member for a turn of the event loop are in the old generation
 * afterwards.
 */
const program = `
  import { setImmediate } from 'node:timers/promises';
  import { getHeapSpaceStatistics } from 'node:v8';
  import { SlotList } from './src/base/slot-list.ts';
  const old = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space').space_used_size;
  const members = new SlotList();
  const member = () => ({ slot: -1, bulk: new Array(125).fill(0) });
  members.add(member());
  gc();
  const before = old();
  const count = 20_000;
  const client = async () => {
    for (let at = 0; at < count / 4; at++) {
      const one = member();
      members.add(one);
      await setImmediate();
      members.delete(one);
    }
  };
  await Promise.all([client(), client(), client(), client()]);
  console.log((old() - before) / count);
`;

t.test('a former member does not outlive the young generation', async (t) => {
  const args = [
    '--expose-gc',
    '--max-semi-space-size=1',
    '--initial-heap-size=500',
    '--import=tsx',
    '--input-type=module',
    '-e',
    program,
  ];
  const { stdout, stderr } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
  });
  t.equal(stderr, '');
  t.ok(Number(stdout) < 100, `${stdout.trim()} bytes of each`);
});
