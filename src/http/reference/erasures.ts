/** The reference's texts on erasing a person. */
import type { Area } from './entry.ts';

const inWorkspace = '/console/api/workspaces/{w}';

const receipt = { object: 'erasure', at: 1_790_000_300, sessions: 1, messages: 12, turns: 6, feedback: 0, tests: 0 };

const goes =
  'Messages, turns, tool calls with their arguments and outputs, histories and remembered requests go with it; usage stays, as counts.';
const cut =
  'An answer may take as long as there are sessions. If it is lost or the server stops, the server completes the erasure by itself, within about a minute of its next start.';
const again =
  'A repeat waits for an erasure that runs, and answers its receipt. After its end a repeat erases nothing and answers zeros.';

export const erasures: Area = {
  name: 'Console: erasing a person',
  group: 'Console',
  description: 'Removes what a person left behind, on their request. Neither can be undone.',
  entries: {
    [`DELETE ${inWorkspace}/sessions/{id}`]: {
      does: `Erases a session of any channel and any age. A turn or a call in flight is aborted first. ${goes} ${cut}`,
      repeat: again,
      surprises: 'An unknown session is no error: the answer has zeros. An unknown workspace is 404 `route_not_found`.',
      answer: receipt,
    },
    [`DELETE ${inWorkspace}/visitors/{visitor_id}`]: {
      does: `Erases all sessions of a visitor of the link or the widget. \`visitor_id\` is the \`id\` that \`POST /p/{slug}/visitors\` answered, which a session has in the console as \`link_visitor_id\`. ${goes} So do the limits that name the visitor. The visitor's token stays valid: a session opened after it is a new one. ${cut}`,
      repeat: again,
      surprises: 'An unknown visitor is no error: the answer has zeros. An unknown workspace is 404 `route_not_found`.',
      answer: { ...receipt, sessions: 3, messages: 40, turns: 19 },
    },
  },
};
