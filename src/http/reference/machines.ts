/** The reference's texts on the machines. */
import { actorKinds, configurationOf, kinds } from '../../../machines/all.ts';
import { listOf, type Area } from './entry.ts';

export const machines: Area = {
  name: 'Console: machines',
  group: 'Console',
  description: 'The state machines that sessions, keys, workspaces, assistants and transcription sockets are run by.',
  entries: {
    'GET /console/api/machines': {
      does: 'Returns the machines of this version of the server, each with its version: one of its actors is stored with the version that wrote it. The list is short, and its order fixed.',
      query: { limit: 10 },
      answer: listOf(...actorKinds.map((kind) => ({ object: 'machine', kind, version: kinds[kind].version }))),
    },
    'GET /console/api/machines/{kind}': {
      does: `Returns the configuration of a machine, made from the very definition that runs: \`id\`, \`initial\`, \`states\` and \`on\`, as \`createMachine\` takes it and Stately's tools read it. \
Guards and actions are names; an action with parameters is an object of \`type\` and \`params\`. In each list the first transition whose guard holds is taken.`,
      surprises: 'An unknown kind is 404 `route_not_found`: the error table has no other code for it.',
      answer: configurationOf('workspace'),
    },
  },
};
