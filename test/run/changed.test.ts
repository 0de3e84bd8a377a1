/** `npm test -- --changed`: the tests that a change reaches, through imports, names of files, templates and folders. */
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { readUses, reachedBy } from './changed.mjs';

const all = readdirSync(fileURLToPath(new URL('..', import.meta.url)), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.ts'))
  .map((path) => `test/${path}`);

const ofTheTree = ['test/lint.test.ts', 'test/readme.test.ts', 'test/tidy.test.ts'];

/** A changed file, with tests that it reaches and tests that it does not. */
const examples: Readonly<Record<string, { reaches: readonly string[]; spares: readonly string[] }>> = {
  'machines/session.ts': {
    reaches: ['test/machines/table.test.ts', 'test/turn/sessions.test.ts', 'test/api/chat.test.ts'],
    spares: ['test/providers/client/pool.test.ts', 'test/base/clock.test.ts'],
  },
  'src/providers/client/pool.ts': {
    reaches: ['test/providers/client/pool.test.ts', 'test/api/provider.test.ts'],
    spares: ['test/machines/table.test.ts', 'test/store/store.test.ts'],
  },
  'src/cli/output.ts': {
    reaches: ['test/cli/output.test.ts', 'test/cli/command.test.ts'],
    spares: ['test/turn/sessions.test.ts'],
  },
  'src/store/redis/steps/finish-turn.lua': {
    reaches: ['test/store/redis.test.ts', 'test/api/processes.test.ts'],
    spares: ['test/store/lmdb.test.ts', 'test/turn/log.test.ts'],
  },
  'src/store/redis/steps/includes/remove-flight.lua': {
    reaches: ['test/store/redis.test.ts', 'test/api/processes.test.ts'],
    spares: ['test/store/lmdb.test.ts', 'test/turn/log.test.ts'],
  },
  'test/faults/main.ts': { reaches: ['test/development-commands.test.ts'], spares: ['test/api/chat.test.ts'] },
  'test/golden/0.1/machines.json': { reaches: ['test/golden.test.ts'], spares: ['test/machines/table.test.ts'] },
  'test/base/clock.test.ts': { reaches: ['test/base/clock.test.ts'], spares: ['test/base/ids.test.ts'] },
  'README.md': { reaches: ofTheTree, spares: ['test/api/chat.test.ts'] },
  'package-lock.json': { reaches: all, spares: [] },
};

const uses = await readUses();

for (const [path, { reaches, spares }] of Object.entries(examples)) {
  t.test(path, async (t) => {
    const { reached, idle } = reachedBy([path], all, uses);
    t.same(
      [...reaches, ...ofTheTree].filter((test) => !reached.has(test)),
      [],
      'what it reaches',
    );
    t.same(
      spares.filter((test) => reached.has(test)),
      [],
      'what it leaves alone',
    );
    t.same(
      [...new Set(reached.values())].filter((why) => why !== path),
      ofTheTree.every((test) => reached.get(test) === path) ? [] : ['any change'],
    );
    t.same(idle, []);
  });
}

t.test('an empty change selects no test, and a file without a test is reported', async (t) => {
  t.equal(reachedBy([], all, uses).reached.size, 0);
  const { reached, idle } = reachedBy(['docs/nobody.md'], all, uses);
  t.same([...reached.keys()].toSorted(), ofTheTree);
  t.same(idle, ['docs/nobody.md']);
});
