/** The reference's texts on the histories of actors. */
import { sessionKind } from '../../../machines/session.ts';
import { begunTurn, turnKind } from '../../../machines/turn.ts';
import { limits } from '../../base/limits.ts';
import { grouped } from '../../base/text.ts';
import { listOf, type Area, type OperationEntry } from './entry.ts';
import * as example from './examples.ts';

const inWorkspace = '/console/api/workspaces/{w}';
const { version } = sessionKind;
const byKey = { kind: 'key', id: example.ids.key, name: example.key.name };
const byOperator = { kind: 'operator', id: 'operator', name: 'operator' };
const requests = [
  'req_1m3250v000a3c5e7g9j1m3p5r7',
  'req_1m32516t40b4d6f8h0k2n4q6s8',
  'req_1m2zj1t200c5e7g9j1m3p5r7t9',
] as const;

const step = (seq: number, at: number, event: string, from: string | null, to: string, more: object) => ({
  seq,
  at,
  event,
  from,
  to,
  outcomes: [],
  refused: false,
  count: 1,
  version,
  ...more,
});

const created = (at: number, to: string, requestId: string, by: object, context: object) =>
  step(1, at, 'create', null, to, { request_id: requestId, by, data: { type: 'create' }, context });

const { created_at: openedAt, expires_at: expiresAt } = example.session;
const began = { turnId: example.ids.turn };
const open = { expiresAt, endedAt: null, activeTurnId: null };

const sessionExample = listOf(
  created(openedAt, 'open', requests[0], byKey, open),
  step(2, openedAt + 2, 'chat', 'open', 'streaming', {
    outcomes: [{ type: 'turn.begun', ...began }],
    request_id: requests[1],
    by: byKey,
    data: { type: 'chat', at: (openedAt + 2) * 1000 + 417, ...began, assistantRefusal: null },
    context: { ...open, activeTurnId: example.ids.turn },
  }),
  step(3, openedAt + 4, 'finished', 'streaming', 'open', {
    outcomes: [{ type: 'turn.closed', ...began }],
    request_id: requests[1],
    by: byKey,
    data: { type: 'finished', at: (openedAt + 4) * 1000 + 86, ...began },
    context: open,
  }),
);

const answering = { ...begunTurn({ runsUntil: (openedAt + 302) * 1000 + 417, shared: true }), begun: true };
const turnStep = (
  seq: number,
  ms: number,
  event: string,
  from: string,
  to: string,
  outcomes: object[],
  context: object,
) => ({
  ...step(seq, openedAt + 3, event, from, to, {
    outcomes,
    request_id: requests[1],
    by: byKey,
    data: { type: event, at: (openedAt + 3) * 1000 + ms },
    context,
  }),
  version: turnKind.version,
});

const turnExample = listOf(
  turnStep(1, 102, 'output', 'waiting', 'starting', [{ type: 'append' }], { ...answering, begun: false }),
  turnStep(2, 104, 'stored', 'starting', 'answering', [{ type: 'chat.begun' }], answering),
  turnStep(3, 914, 'ended', 'answering', 'sealing', [{ type: 'seal', reason: 'completed' }], {
    ...answering,
    ending: 'completed',
  }),
);

const keyContext = { expiresAt: null, revokedAt: null, debt: null };

const keyExample = listOf(created(example.key.created_at, 'active', requests[2], byOperator, keyContext));

const assistantExample = listOf(
  created(example.assistant.created_at, 'draft', requests[2], byOperator, { voice: false }),
);

const about = `Each item is one step that was committed, written together with its changes: the event, the states, the machine's outcomes, the request that caused it and \
its caller. The newest ${grouped(limits.historyKept)} steps are kept, as long as what they moved. Beside the contract's fields, \`data\` is the event as the machine took it, \`context\` the machine's context after the step, \
and \`version\` that of the machine, so that each step can be shown, and the steps be run again, without the server. Refusals commit nothing: those since the actor was last woken stand among the steps, \
as far as the process that answers knows them, the newest ${limits.refusalsKept}; equal ones in a row are one item with their \`count\`. A key's recovery from a limit commits nothing either, and stands there in the same way.`;

const entry = (
  does: string,
  surprises: string,
  query: OperationEntry['query'] & {},
  answer: object,
): OperationEntry => ({ does: `${does} ${about}`, surprises, query, answer });

export const histories: Area = {
  name: 'Console: histories',
  group: 'Console',
  description: 'The history of a session, a turn, a key or an assistant, step by step.',
  entries: {
    [`GET ${inWorkspace}/sessions/{id}/history`]: entry(
      'Returns the history of a session, without waking it.',
      'A session that the workspace does not have is 404 `session_not_found`.',
      { order: 'asc', limit: 3 },
      sessionExample,
    ),
    [`GET ${inWorkspace}/sessions/{id}/turns/{turn_id}/history`]: {
      does: `Returns the steps of a turn: from the call of its model to its stored end. They are stored with the session's step that ends the turn, so they are kept as long as that is; the last of them is that \
step itself. A turn in flight in the process that answers, or taken over from it and not over yet, has its steps so far. There are none where the process that ran the turn has died, or another version of its machine ran it.`,
      surprises:
        'A session that the workspace does not have is 404 `session_not_found`, a turn that the session does not have 404 `turn_not_found`.',
      query: { order: 'asc', limit: 3 },
      answer: turnExample,
    },
    [`GET ${inWorkspace}/keys/{id}/history`]: entry(
      'Returns the history of a key. Its budgets are no steps: requests that they refuse are among the refusals.',
      'An unknown id is 404 `route_not_found`: the error table has no other code for it.',
      { order: 'asc', limit: 1 },
      keyExample,
    ),
    [`GET ${inWorkspace}/assistants/{id}/history`]: entry(
      'Returns the history of an assistant.',
      'An assistant that the workspace does not have is 404 `assistant_not_found`.',
      { order: 'asc', limit: 1 },
      assistantExample,
    ),
  },
};
