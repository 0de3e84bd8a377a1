/** The list of an MCP server against what was stored (contract 13). */
import t from 'tap';
import { refreshed } from '../../../src/providers/tool/listing.ts';

const parameters = { type: 'object' };

t.test('a description is cut between characters', async (t) => {
  const description = '😀'.repeat(2001);
  const { functions, changes } = refreshed([], [{ name: 'look.up', description, parameters }]);
  t.same(functions, [
    {
      name: 'look_up',
      remoteName: 'look.up',
      description: '😀'.repeat(2000),
      parameters,
      enabled: false,
      approval: null,
      show: null,
    },
  ]);
  t.same(changes, [{ name: 'look_up', change: 'added' }]);
  t.same(refreshed(functions, [{ name: 'look.up', description, parameters }]), { functions, changes: [] });
});

t.test('a function that changed is off and keeps who approves it and who sees it', async (t) => {
  const before = [
    {
      name: 'look_up',
      description: null,
      parameters,
      enabled: true,
      approval: 'always' as const,
      show: 'full' as const,
    },
  ];
  const { functions, changes } = refreshed(before, [{ name: 'look_up', description: 'Other.', parameters }]);
  t.same(functions, [{ ...before[0], description: 'Other.', enabled: false }]);
  t.same(changes, [{ name: 'look_up', change: 'changed' }]);
});
