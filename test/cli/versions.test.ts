/** `parley assistants versions`, `changes`, `rollback`, `rollout`, `promote`, `end` and `recall` (contract 20). */
import type { ServerResponse } from 'node:http';
import t from 'tap';
import { consoleAssistant, fail, fakeServer, list, run, workspace } from './support.ts';

const one = `/console/api/workspaces/${workspace.id}/assistants/${consoleAssistant.id}`;
const version = {
  object: 'assistant_version',
  number: 2,
  digest: 'a'.repeat(27),
  note: 'Shorter.',
  created_at: 1767225600,
  created_by: { id: 'operator', name: 'operator' },
  state: 'current',
  sessions: 3,
  turns: 12,
  failed_turns: 1,
  feedback_up: 0,
  feedback_down: 0,
};
const first = { ...version, number: 1, note: null, created_by: null, state: 'retired' };
const data = [{ path: 'model.temperature', before: null, after: 0.2 }];

t.test('versions are listed, compared and rolled back to', async (t) => {
  const server = await fakeServer(t, {
    'GET /console/api/workspaces': () => list(workspace),
    [`GET ${one}`]: () => ({ ...consoleAssistant, version: 2 }),
    [`GET ${one}/versions`]: () => list(version, first),
    [`GET ${one}/versions/2/changes`]: () => ({ object: 'version_changes', data }),
    [`POST ${one}/rollback`]: () => consoleAssistant,
  });
  const run_ = (...args: string[]) => run(['assistants', ...args], { env: server.env });
  const said = async (...args: string[]) => (await run_(...args)).stdout;
  t.strictSame(
    (await said('versions', consoleAssistant.id)).split('\n').map((line) => line.replace(/ {2,}/g, '|')),
    [
      'VERSION|STATE|SESSIONS|TURNS|FAILED|CREATED|BY|NOTE',
      '2|current|3|12|1|2026-01-01 00:00:00Z|operator|Shorter.',
      '1|retired|3|12|1|2026-01-01 00:00:00Z|-|-',
      '',
    ],
  );
  t.equal(await said('changes', consoleAssistant.id, '2'), 'model.temperature: null -> 0.2\n');
  await said('changes', consoleAssistant.id, '2', '--from', 'draft');
  t.strictSame(server.received.at(-1)!.query, { from: 'draft' });
  t.equal(await said('changes', consoleAssistant.id, 'draft', '--from', '2'), 'model.temperature: 0.2 -> null\n');
  t.strictSame(server.received.at(-1)!.query, { from: 'draft' }, 'the draft is compared in the other direction');
  t.strictSame(JSON.parse(await said('changes', consoleAssistant.id, 'draft', '--json')), {
    object: 'version_changes',
    data: [{ path: 'model.temperature', before: 0.2, after: null }],
  });
  const rolled = `New sessions of "demo" (${consoleAssistant.id}) get version 1.\n`;
  t.equal(await said('rollback', consoleAssistant.id), rolled);
  t.strictSame(server.received.at(-1)!.body, {});
  t.equal(await said('rollback', consoleAssistant.id, '--version', '1'), rolled);
  t.strictSame(server.received.at(-1)!.body, { version: 1 });
  t.match(await run_('rollback', consoleAssistant.id, '--version', 'x'), { code: 2 });
});

t.test('a version is rolled out, promoted, ended and recalled', async (t) => {
  const halt = { failed_percent: 5, after_turns: 50 };
  const candidate = { version: 2, percent: 10, halt, state: 'rolling', turns: 7, failed_turns: 1 };
  const server = await fakeServer(t, {
    'GET /console/api/workspaces': () => list(workspace),
    [`GET ${one}`]: () => ({ ...consoleAssistant, candidate }),
    [`POST ${one}/rollout`]: () => ({ ...consoleAssistant, candidate }),
    [`POST ${one}/rollout/promote`]: () => ({ ...consoleAssistant, version: 2 }),
    [`POST ${one}/rollout/end`]: () => consoleAssistant,
    [`POST ${one}/recall`]: () => consoleAssistant,
  });
  const { id } = consoleAssistant;
  const run_ = (...args: string[]) => run(['assistants', ...args], { env: server.env });
  const begun = await run_(
    ...['rollout', id, '--version', 'draft', '--percent', '10'],
    ...['--halt-failed', '5', '--halt-after', '50'],
  );
  t.equal(begun.stdout, `10 % of new sessions of "demo" (${id}) get version 2.\n`);
  t.strictSame(server.received.at(-1)!.body, { version: 'draft', percent: 10, halt });
  await run_('rollout', id, '--version', '2', '--percent', '50');
  t.strictSame(server.received.at(-1)!.body, { version: 2, percent: 50 });
  t.match((await run_('show', id)).stdout, /^rollout +version 2, 10 %, rolling: 1 of 7 turns failed$/m);
  t.equal((await run_('promote', id)).stdout, 'New sessions get version 2.\n');
  t.equal((await run_('end', id)).stdout, 'The rollout has ended. New sessions get version 1.\n');
  t.equal((await run_('recall', id)).stdout, 'Every open session moves to version 1 with its next turn.\n');
  for (const wrong of [
    ['--version', 'x', '--percent', '10'],
    ['--version', '2', '--percent', '1.5'],
    ['--version', '2'],
    ['--version', '2', '--percent', '10', '--halt-failed', '5'],
  ])
    t.match(await run_('rollout', id, ...wrong), { code: 2 }, wrong.join(' '));
  const share = ['--version', '2', '--percent', '10'];
  for (const [range, ...wrong] of [
    ['from 1 to 99', '--version', '2', '--percent', '0'],
    ['from 1 to 99', '--version', '2', '--percent', '100'],
    ['from 1 to 100', ...share, '--halt-failed', '500', '--halt-after', '50'],
    ['from 10 to 999999999', ...share, '--halt-failed', '5', '--halt-after', '3'],
  ])
    t.match((await run_('rollout', id, ...wrong)).stderr, `It must be a whole number ${range}.`, wrong.join(' '));
});

t.test('a command without the version that it needs says which one is missing', async (t) => {
  const missing = (_request: unknown, response: ServerResponse) =>
    fail(response, 404, 'not_found', 'version_not_found', 'No such version of the assistant.');
  const server = await fakeServer(t, {
    'GET /console/api/workspaces': () => list(workspace),
    [`GET ${one}`]: () => ({ ...consoleAssistant, version: null }),
    [`POST ${one}/rollback`]: missing,
    [`POST ${one}/rollout/promote`]: missing,
    [`POST ${one}/rollout/end`]: missing,
    [`POST ${one}/recall`]: missing,
  });
  const noRollout = 'The assistant has no rollout. Begin one with `parley assistants rollout`.';
  for (const [verb, line, ...rest] of [
    ['rollback', 'The assistant has no earlier version to go back to.'],
    ['rollback', 'The assistant has no version 9.', '--version', '9'],
    ['promote', noRollout],
    ['end', noRollout],
    ['recall', 'The assistant has no version yet.'],
  ] as const) {
    const { code, stderr } = await run(['assistants', verb, consoleAssistant.id, ...rest], { env: server.env });
    t.equal(code, 1);
    t.ok(stderr.startsWith(`parley: ${line} (version_not_found`), stderr);
  }
  const { code, stderr } = await run(['assistants', 'changes', consoleAssistant.id, 'draft'], { env: server.env });
  t.strictSame([code, stderr], [1, 'parley: The assistant has no version yet.\n']);
});
