/** The reference's texts on assistants, sessions, turns and usage: the paths for customers. */
import { asks } from './attendance.ts';
import { limits } from '../../base/limits.ts';
import { listOf, type Area } from './entry.ts';
import * as example from './examples.ts';

const sessionErrors = `\`session_not_found\` also stands for a session of another workspace and for one past the workspace's retention. \
With a restricted key, a session of an assistant that is not on its list is 403 \`assistant_not_permitted\`.`;

const listing =
  '`limit` and `after` page through the list; a page may hold fewer items than `limit`, and `has_more` alone says whether more follow.';

export const assistants: Area = {
  name: 'Assistants',
  group: 'API',
  description:
    'The assistants that a session can be opened with. An assistant is configured and published by operators; an API key sees its public fields.',
  entries: {
    'GET /assistants': {
      does: `Returns the assistants that the key reaches, newest first, whatever their status: drafts and disabled ones are listed, and refuse new sessions. \
A restricted key lists only the assistants it names. ${listing}`,
      surprises: 'An `after` that is no assistant id is 422 `invalid_request`.',
      query: { limit: 10 },
      answer: listOf(example.assistant),
    },
    'GET /assistants/{id}': {
      does: `Returns one assistant, with the fields that a visitor must fill in before a session (\`visitor_fields\`) and whether voice is on (\`channels.voice\`). \
A client may keep the answer for 60 seconds, and ask with \`If-None-Match\` afterwards: 304 has no body.`,
      cost: 'A 304 costs the same.',
      surprises:
        "An assistant outside a restricted key's list is 403 `assistant_not_permitted` here, and 404 `assistant_not_found` where it filters a list.",
      answer: example.assistant,
    },
  },
};

export const sessions: Area = {
  name: 'Sessions',
  group: 'API',
  description: 'A conversation with one assistant, open for at most `max_call_seconds`.',
  entries: {
    'POST /sessions': {
      does: `Opens a session with a published assistant. The assistant's greeting, where it has one, is the first message of the transcript. \
The session expires \`max_call_seconds\` after its creation, to the second.

\`visitor\` holds data about the person; each of the assistant's \`visitor_fields\` must have its type, and required ones must not be empty. \
\`metadata\` is the client's own: at most ${limits.metadataPairsMax} pairs of strings. Both come back in the session and change nothing.`,
      repeat: `Without an \`Idempotency-Key\`, a repeat opens a second session. With one, the same key and the same body give the same session for 24 hours: 201 again, \
with \`Idempotent-Replayed: true\`, also when the assistant has been disabled since. Failures are not remembered, so a repeat after one runs anew.`,
      surprises: `A visitor field of the wrong type is 422 \`invalid_request\` and is looked for before missing ones, which are 422 \`missing_visitor_fields\`; \
both come before 409 \`assistant_not_published\` and \`assistant_disabled\`. The same \`Idempotency-Key\` with another body is 422 \`invalid_request\`.`,
      headers: { 'Idempotency-Key': example.idempotencyKey },
      body: { assistant_id: example.ids.assistant, visitor: example.visitor, metadata: example.metadata },
      answer: example.session,
    },
    'GET /sessions': {
      does: `Returns the sessions that the key reaches, newest first, whichever key opened them; those past the workspace's retention are left out. \
\`status\` counts by the clock: a session past its \`expires_at\` is \`expired\`. ${listing}`,
      surprises:
        'An `assistant_id` that the key does not reach is 404 `assistant_not_found`, the same answer as for one that does not exist.',
      query: { assistant_id: example.ids.assistant, status: 'open', limit: 10 },
      answer: listOf(example.session),
    },
    'GET /sessions/{id}': {
      does: `Returns one session. \`active_turn_id\` is the turn in flight, or null: a client that lost its stream resumes this turn.`,
      surprises: sessionErrors,
      answer: example.session,
    },
    'POST /sessions/{id}/end': {
      does: 'Ends a session. A turn in flight is aborted; the output that it had sent stays in the transcript. Takes no body.',
      repeat: 'Ending a session that has ended or expired changes nothing and returns it as it is.',
      surprises: `${sessionErrors} There is no 409: a session that is over is not refused.`,
      answer: example.endedSession,
    },
    'POST /sessions/{id}/ask': asks,
    'GET /sessions/{id}/events': {
      does: `Streams what happens in the session, from now on, or from behind a cursor: \`?after=\` or \`Last-Event-ID\`, the \`id\` of the last event seen; 0 is all of it, and \`after\` wins.

- \`message.created\` is a whole message: the greeting, a person's, or a reply once its turn has ended.
- \`turn.started\` and \`turn.ended\` name a turn; its text streams at the turn's own events.
- \`attendance.changed\` says who answers from then on: the assistant, nobody while the visitor waits, or a person.
- \`session.ended\` comes last, and the stream closes.

An event's \`id\` is its number in the session, from 1 and without gaps: a client that resumes, in any process, gets each event once and in order. \
A turn whose chat was answered 503 has no number. A comment line is sent after every 15 seconds of silence.`,
      cost: `${limits.sessionStreamsMax} streams of a session and ${limits.streamsOfSessionsMax} of a process may be open; beyond that 429 \`rate_limited\` with \`Retry-After\`.`,
      surprises: `204 if the session has ended and no event is left. A cursor beyond the last event is 422 \`invalid_request\` as \`after\`, 400 as \`Last-Event-ID\`. \
A stream that ends without \`session.ended\` is resumed: the process was ended. ${sessionErrors}`,
      query: { after: 2 },
      answer: example.sessionStream,
    },
    'GET /sessions/{id}/transcript': {
      does: `Returns the messages of a session, oldest first, of sessions that are over too. Each turn has two messages, the visitor's and the assistant's. \
Output of a turn that did not complete is there as well, with status \`partial\`; \`stop_reason\` and \`error_code\` say why it ended. \
Text that a client has seen in a stream is in the transcript.

A page ends before ${limits.answerBytesMax / 1024} KiB, so with long messages it may hold fewer than \`limit\`; \`has_more\` alone says whether more follow.`,
      surprises: `The cursors are numbers, not message ids: an id as \`after\` is 422 \`invalid_request\`. ${sessionErrors}`,
      query: { limit: 50, order: 'asc' },
      answer: listOf(...example.messages),
    },
  },
};

const streamed = `The events, each with one line of JSON as its data:

- \`turn.started\` gives the ids of the turn and of the reply's message.
- \`message.delta\` carries a piece of the reply.
- \`turn.completed\`, \`turn.aborted\` or \`error\` comes last, exactly one of them, and the stream closes.

An event's \`id\` counts the Unicode code points of output up to and including it. A comment line is sent after every 15 seconds of silence.`;

export const turns: Area = {
  name: 'Turns',
  group: 'API',
  description:
    'A message and its reply, which streams back as server-sent events and can be resumed, joined and aborted.',
  entries: {
    'POST /sessions/{id}/chat': {
      does: `Sends a message of at most ${limits.messageCharactersMax} Unicode code points and streams the reply. \
The status is 200 only once the model provider has begun to answer; what fails before is a status with the error shape, what fails later is an \`error\` event \
of exactly \`code\` and \`message\`.

${streamed}

A client that leaves does not end the turn: it runs on, is stored, and can be resumed. It ends by an abort, with its session, by a failure, or after five minutes.`,
      cost: `It also holds one of the workspace's turns in flight (${limits.turnsInFlightMax} by default) until it ends. Where none is free the answer is 429 with \
\`Retry-After: 1\`, and the key's budget does not go into debt.`,
      repeat: `Without an \`Idempotency-Key\`, a repeat sends the message twice. With one, the same key and body join the same turn's stream from its beginning, for 24 hours, \
with \`Idempotent-Replayed: true\`.`,
      surprises: `A second turn on a session is 409 \`turn_in_progress\`, also when the workspace has no turn left. 503 \`assistant_unavailable\` means that the model provider refused or failed, \
its rate limit included: do not retry. After a 503 no message is left in the transcript. An abort before the first output is 200 with \`turn.started\` and \`turn.aborted\`.`,
      headers: { 'Idempotency-Key': example.idempotencyKey },
      body: { message: example.question },
      answer: example.wholeStream,
    },
    'POST /sessions/{id}/turns/{turn_id}/abort': {
      does: `Aborts a turn in flight. Its stream ends with \`turn.aborted\`, and the output that it had sent is in the transcript as a partial message. \
The answer is the turn, whose end is stored by then. Takes no body.`,
      repeat: 'Aborting a turn that is over changes nothing and returns it as it ended, completed turns included.',
      surprises: `An unknown turn, or one of another session, is 404 \`turn_not_found\`. ${sessionErrors}`,
      answer: example.turn,
    },
    'PUT /sessions/{id}/turns/{turn_id}/feedback': {
      does: `Rates the reply of a turn that has ended, \`up\` or \`down\`, with a comment of at most ${limits.feedbackCharactersMax} code points or none. The session may have ended as well. \
Turn and message then have \`feedback\`, and the usage of the time in which the turn ended counts it.`,
      repeat: 'A repeat replaces the rating and its comment.',
      surprises: `A turn that still streams is 409 \`turn_in_progress\`. An unknown turn is 404 \`turn_not_found\`. ${sessionErrors}`,
      body: { rating: 'up', comment: 'That helped.' },
      answer: example.ratedTurn,
    },
    'DELETE /sessions/{id}/turns/{turn_id}/feedback': {
      does: 'Removes the feedback on a turn.',
      repeat: '204 again, also for a turn without a rating.',
      surprises: `A turn that still streams is 409 \`turn_in_progress\`. An unknown turn is 404 \`turn_not_found\`. ${sessionErrors}`,
    },
    'GET /sessions/{id}/turns/{turn_id}/events': {
      does: `Streams a turn again, in flight or over: from its beginning, or from behind a cursor. The cursor is the \`id\` of the last event seen, as \`?after=\` or as \`Last-Event-ID\`; \
\`after\` wins. With a cursor each remaining code point comes once, then the one last event, and \`turn.started\` is left out.

${streamed}`,
      cost: 'It holds none of the turns in flight, however many clients read.',
      surprises: `A cursor beyond the output there is so far is 422 \`invalid_request\`. A \`Last-Event-ID\` that is no count is 400, an \`after\` that is none 422.`,
      query: { after: 31 },
      answer: example.restOfStream,
    },
  },
};

export const usage: Area = {
  name: 'Usage',
  group: 'API',
  description: 'The usage of a workspace, in buckets of a day or an hour in UTC.',
  entries: {
    'GET /usage': {
      does: `Returns the usage from \`start\` (inclusive) to \`end\` (exclusive), by default in the last ${limits.usageDaysDefault} days. Buckets are aligned to UTC; empty ones are there with zeros. \
A turn counts when it ends, \`turns\` includes failed ones, and a message that was refused before its stream is none. A restricted key counts only the assistants it names.`,
      surprises: `A window that starts after it ends, or is longer than ${limits.usageDaysMax} days, is 422 \`invalid_range\`. An \`assistant_id\` that the key does not reach is 404 \`assistant_not_found\`.`,
      query: { ...example.usageWindow, bucket: 'day' },
      answer: example.usage,
    },
  },
};
