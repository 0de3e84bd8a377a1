/** The reference's texts on the desk, where people answer (contract 23). */
import type { Area } from './entry.ts';
import * as example from './examples.ts';

const inWorkspace = '/console/api/workspaces/{w}';
const unknown =
  "An unknown workspace is 404 `route_not_found`, an unknown session, and one past the workspace's retention, 404 `session_not_found`. A session that has ended is 409 `session_ended` or `session_expired`.";
const others =
  'Another person has the session, or nobody: 409 `session_taken`. A session of an OpenAI or MCP client is 404 `route_not_found`.';

/** The entry of `POST …/ask`, for keys and for visitors. */
export const asks = {
  does: `Asks for a person to take the session, with a \`reason\` for them, of at most 500 characters. The session waits for the assistant's \`desk.wait_seconds\`; \
a turn in flight continues. A session that waits already, or has a person, stays as it is.`,
  repeat: 'A repeat changes nothing.',
  surprises:
    "404 `route_not_found` while the assistant's `desk.enabled` is false, and in a session of an OpenAI or MCP client.",
  body: { reason: 'A question about a refund' },
  answer: example.waitingSession,
};

export const attendance: Area = {
  name: 'Console: desk',
  group: 'Console',
  description:
    'People take conversations over. From the commit of a take on, the assistant is silent in the session until its person returns it.',
  entries: {
    [`GET ${inWorkspace}/desk`]: {
      does: 'Lists the sessions that wait for a person, the longest first, and then those that people have, each with the reason that the visitor gave and its last message.',
      surprises: 'An unknown workspace is 404 `route_not_found`.',
      query: { limit: 20 },
      answer: {
        object: 'list',
        data: [{ ...example.waitingSession, reason: 'A question about a refund', last_message: example.messages[2] }],
        has_more: false,
        next_cursor: null,
      },
    },
    [`POST ${inWorkspace}/sessions/{id}/take`]: {
      does: `Gives an open session to the caller, whether or not its visitor asked for a person. A turn in flight is sealed with what is stored, its \`stop_reason\` is \`taken\`, its running calls are cancelled; \
the answer comes once that is done. Messages of the visitor are accepted for the person from then on. A call ends. Takes no body.`,
      repeat: 'A repeat by the same person changes nothing.',
      surprises: `Another person has it: 409 \`session_taken\`. A session of an OpenAI or MCP client is 404 \`route_not_found\`. ${unknown}`,
      answer: example.takenSession,
    },
    [`POST ${inWorkspace}/sessions/{id}/messages`]: {
      does: 'Sends the visitor a message of the person who has the session.',
      repeat:
        'Without an `Idempotency-Key`, a repeat sends the message twice. With one, the same key and body return the same message, for 24 hours, with `Idempotent-Replayed: true`.',
      surprises: `${others} ${unknown}`,
      headers: { 'Idempotency-Key': example.idempotencyKey },
      body: { text: example.personMessage.content },
      answer: example.personMessage,
    },
    [`POST ${inWorkspace}/sessions/{id}/return`]: {
      does: 'Gives the session back to the assistant, which is sent all that was said meanwhile. Takes no body.',
      repeat: 'A repeat is 409 `session_taken`: nobody has the session any more.',
      surprises: `${others} ${unknown}`,
      answer: example.session,
    },
    [`POST ${inWorkspace}/sessions/{id}/release`]: {
      does: 'Gives the session up: its visitor waits for the next person, as after asking for one. Takes no body.',
      repeat: 'A repeat is 409 `session_taken`: nobody has the session any more.',
      surprises: `${others} ${unknown}`,
      answer: example.waitingSession,
    },
  },
};
