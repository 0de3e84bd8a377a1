/** `parley assistants versions`, `changes` and `rollback` (contract 20). */
import t from 'tap';
import { consoleAssistant, fakeServer, list, run, workspace } from './support.ts';

const one = `/console/api/workspaces/${workspace.id}/assistants/${consoleAssistant.id}`;
const version = {
  object: 'assistant_version',
  number: 2,
  digest: 'a'.repeat(27),
  note: 'Shorter.',
  created_at: 1767225600,
  created_by: { id: 'operator', name: 'operator' },
  state: 'current',
};
const first = { ...version, number: 1, note: null, created_by: null, state: 'retired' };
const data = [{ path: 'model.temperature', before: null, after: 0.2 }];

t.test('versions are listed, compared and rolled back to', async (t) => {
  const server = await fakeServer(t, {
    'GET /console/api/workspaces': () => list(workspace),
    [`GET ${one}/versions`]: () => list(version, first),
    [`GET ${one}/versions/2/changes`]: () => ({ object: 'version_changes', data }),
    [`POST ${one}/rollback`]: () => consoleAssistant,
  });
  const run_ = (...args: string[]) => run(['assistants', ...args], { env: server.env });
  const said = async (...args: string[]) => (await run_(...args)).stdout;
  t.strictSame(
    (await said('versions', consoleAssistant.id)).split('\n').map((line) => line.replace(/ {2,}/g, '|')),
    [
      'VERSION|STATE|CREATED|BY|NOTE',
      '2|current|2026-01-01 00:00:00Z|operator|Shorter.',
      '1|retired|2026-01-01 00:00:00Z|-|-',
      '',
    ],
  );
  t.equal(await said('changes', consoleAssistant.id, '2'), 'model.temperature: null -> 0.2\n');
  await said('changes', consoleAssistant.id, '2', '--from', 'draft');
  t.strictSame(server.received.at(-1)!.query, { from: 'draft' });
  const rolled = `New sessions of "demo" (${consoleAssistant.id}) get version 1.\n`;
  t.equal(await said('rollback', consoleAssistant.id), rolled);
  t.strictSame(server.received.at(-1)!.body, {});
  t.equal(await said('rollback', consoleAssistant.id, '--version', '1'), rolled);
  t.strictSame(server.received.at(-1)!.body, { version: 1 });
  t.match(await run_('rollback', consoleAssistant.id, '--version', 'x'), { code: 2 });
});
