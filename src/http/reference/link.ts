/** The reference's texts on an assistant's public link. */
import { asks } from './attendance.ts';
import { limits } from '../../base/limits.ts';
import { listOf, type Area, type OperationEntry } from './entry.ts';
import * as example from './examples.ts';
import { linkLimitDefault, linkLimits } from '../../base/link-limits.ts';

const { linkSession: sessionId, linkTurn: turnId, visitor: visitorId } = example.ids;
const startedAt = example.session.created_at;
const session = { ...example.session, id: sessionId, channel: 'link' };
const stream = (text: string): string => text.replaceAll(example.ids.turn, turnId);

const unknown =
  'A slug that no assistant has and a channel that is off are 404 `assistant_not_found`, the same answer for both. A request with an `Origin` that is neither ours nor listed is 403 `assistant_not_permitted`.';
const token = `${unknown} Without a token, or with a token that is not valid for this slug, the answer is 401 \`invalid_token\`.`;
const others = `${token} A session of another visitor is 404 \`session_not_found\`.`;

const limited = `A message counts against the limits of the assistant's link, all of them or, where one refuses, none: ${linkLimits.minutes_per_day} minutes of conversation a day, ${linkLimits.concurrent_visitors} visitors at a time, \
${linkLimits.messages_per_visitor_per_day} messages of a visitor a day and ${linkLimits.messages_per_address_per_hour} of an address an hour, unless it is given others. \
Visitors of one address hold ${linkLimitDefault('places_per_address')}, of these places (\`places_per_address\`) and use ${linkLimitDefault('minutes_per_address')}, of these minutes (\`minutes_per_address\`). Days are UTC. \
A visitor has one turn at a time, over all sessions.`;
const spoken = `The minutes run and the visitor has a place while somebody speaks, and for ${limits.linkSilenceMs / 1000} seconds after that; in a longer silence both stop until the next speech.`;
const read = `One of ${limits.linkReadsPerMinute} reads a minute of an address, over all links; beyond them 429 \`rate_limited\`, which costs nothing.`;
const rated = "One of the address's messages an hour; it counts against no other limit.";
const refused = '429 `rate_limited` has a `Retry-After` and no rate headers; it costs nothing.';

export const linkArea: Area = {
  name: 'Public link',
  group: 'API',
  description: `Conversations of visitors without an API key, where the assistant's \`channels.link\` or \`channels.widget\` is on and its link has a slug. \
The pages of the link and the widget use these paths; a page of another site may, if the link lists its origin. No path takes anything of a key's budgets.`,
  entries: {
    'GET /p/{slug}/about': {
      does: 'Returns the content of a page before a conversation begins. `status` is `open` while the assistant is published, and `closed` otherwise.',
      cost: read,
      surprises: unknown,
      answer: {
        object: 'link',
        slug: example.slug,
        name: example.assistant.name,
        description: example.assistant.description,
        greeting: example.assistant.greeting,
        visitor_fields: example.assistant.visitor_fields,
        channels: { link: true, widget: false },
        status: 'open',
        feedback: true,
        desk: true,
        message_characters_max: limits.messageCharactersMax,
      },
    },
    'POST /p/{slug}/visitors': {
      does: `Names a visitor and returns a token for \`Authorization: Bearer\`, good for ${limits.visitorTokenMs / 86_400_000} days. Nothing is stored. \
With \`channel: "widget"\` the \`host\` is the origin of the page that the widget is on, and must be listed. \
With \`identity\`, a JWT that the site's server has signed (HS256 with the secret of the link), the visitor is the one of its \`sub\`: sessions and messages are \`visitor_verified\`, with the same \`visitor_id\` on every device. \
Its \`exp\` is at most a day ahead; its \`visitor\`, if there is one, has fields that win over those of \`POST /p/{slug}/sessions\`.`,
      repeat:
        'A repeat names another visitor; with the token of one in `Authorization` it renews that token, and the older one stays good.',
      surprises: `${unknown} A token that is sent and not good is 401 \`invalid_token\`, and so is an identity. A signed visitor's token is renewed with an identity only. Where \`link.identity_required\` is set, nobody gets a token without one.`,
      body: { channel: 'link' },
      answer: {
        object: 'visitor',
        id: visitorId,
        token: `${visitorId}.link.tm1xyz.0hV3kq0b7Yy1nW5mXo9TzC2uJsR`,
        expires_at: startedAt + 30 * 86_400,
      },
    },
    'POST /p/{slug}/sessions': {
      does: 'Opens a session of the visitor with the assistant, as `POST /sessions` does. Its `channel` is that of the token.',
      cost: `One of the address's messages in an hour (${linkLimits.messages_per_address_per_hour} by default).`,
      repeat: 'As with `POST /sessions`; an `Idempotency-Key` belongs to the visitor.',
      surprises: `${token} ${refused}`,
      headers: { 'Idempotency-Key': example.idempotencyKey },
      body: { visitor: example.visitor, metadata: example.metadata },
      answer: session,
    },
    'GET /p/{slug}/sessions/{id}': {
      does: 'Returns one session of the visitor.',
      cost: read,
      surprises: others,
      answer: session,
    },
    'GET /p/{slug}/sessions/{id}/transcript': {
      does: "Returns the messages of a session, as the API's transcript does.",
      cost: read,
      surprises: others,
      query: { limit: 50, order: 'asc' },
      answer: listOf(...example.messages.map((message) => ({ ...message, turn_id: message.turn_id && turnId }))),
    },
    'GET /p/{slug}/sessions/{id}/events': {
      does: "Streams what happens in a session of the visitor, as the API's `GET /sessions/{id}/events` does.",
      cost: read,
      surprises: `${others} 204 if the session has ended and no event is left. Five streams of a session may be open in a process; beyond that 429 \`rate_limited\`.`,
      query: { after: 2 },
      answer: stream(example.sessionStream),
    },
    'POST /p/{slug}/sessions/{id}/end': {
      does: 'Ends a session. A turn in flight is aborted, and minutes that lie ahead of its clock are given back. Takes no body.',
      repeat: 'Ending a session that is over changes nothing and returns it as it is.',
      surprises: others,
      answer: { ...session, status: 'ended', ended_at: startedAt + 95 },
    },
    'POST /p/{slug}/sessions/{id}/ask': {
      ...asks,
      cost: rated,
      surprises: `${others} ${asks.surprises}`,
      answer: { ...session, attendance: example.waitingSession.attendance },
    },
    'POST /p/{slug}/sessions/{id}/chat': {
      does: "Sends a message and streams the reply, with the events of the API's chat.",
      cost: `${limited} The clock of a session runs from an accepted message to ${limits.linkHoldMs / 1000} seconds after its turn is sealed, or to the session's end.`,
      repeat: "As with the API's chat; an `Idempotency-Key` belongs to the visitor.",
      surprises: `${others} ${refused} A turn that is answered 503 gives back its charges.`,
      headers: { 'Idempotency-Key': example.idempotencyKey },
      body: { message: example.question },
      answer: stream(example.wholeStream),
    },
    'POST /p/{slug}/sessions/{id}/turns/{turn_id}/abort': {
      does: 'Aborts a turn in flight. Takes no body.',
      repeat: 'Aborting a turn that is over changes nothing and returns it as it ended.',
      surprises: `${others} An unknown turn is 404 \`turn_not_found\`.`,
      answer: { ...example.turn, id: turnId, session_id: sessionId },
    },
    'PUT /p/{slug}/sessions/{id}/turns/{turn_id}/feedback': {
      does: "Rates the reply of a turn that has ended, as the API's feedback does, where `link.feedback` is true. The comment is not shown to visitors.",
      cost: rated,
      repeat: 'A repeat replaces the rating and its comment.',
      surprises: `${others} While \`link.feedback\` is false: 404 \`route_not_found\`. A turn that still streams is 409 \`turn_in_progress\`.`,
      body: { rating: 'up' },
      answer: {
        ...example.ratedTurn,
        id: turnId,
        session_id: sessionId,
        feedback: { ...example.ratedTurn.feedback, comment: null },
      },
    },
    'DELETE /p/{slug}/sessions/{id}/turns/{turn_id}/feedback': {
      does: 'Removes the feedback on a turn, where `link.feedback` is true.',
      cost: rated,
      repeat: '204 again, also for a turn without a rating.',
      surprises: `${others} While \`link.feedback\` is false: 404 \`route_not_found\`. A turn that still streams is 409 \`turn_in_progress\`.`,
    },
    'GET /p/{slug}/sessions/{id}/turns/{turn_id}/events': {
      does: "Streams a turn again, from its beginning or from behind a cursor, as the API's events do.",
      cost: read,
      surprises: `${others} An unknown turn is 404 \`turn_not_found\`.`,
      query: { after: 31 },
      answer: stream(example.restOfStream),
    },
    'POST /p/{slug}/transcription-tokens': {
      does: "Returns a token that opens one transcription socket of the session, where the assistant's voice is on.",
      cost: `It counts as a message. ${spoken} A limit that refuses speech closes the socket: \`error\` \`rate_limited\`, 1008.`,
      repeat: 'A repeat makes a second token; the first stays good.',
      surprises: `${others} ${refused}`,
      body: { session_id: sessionId },
      answer: example.transcriptionToken,
    },
    'POST /p/{slug}/call-tokens': {
      does: "Returns a token that opens one call on the session, where the assistant's voice is on.",
      cost: `It counts as a message, and so does each turn of the call. ${spoken} A limit that refuses fails the next turn: \`turn.failed\` \`rate_limited\`.`,
      repeat: 'A repeat makes a second token; the first stays good.',
      surprises: `${others} ${refused}`,
      body: { session_id: sessionId },
      answer: example.callToken,
    },
    'POST /p/{slug}/speech': {
      does: "Speaks a text, as `POST /speech` does, where the assistant's voice is on.",
      cost: 'It counts as a message.',
      repeat: 'A repeat speaks the text again, and is charged again.',
      surprises: `${others} ${refused}`,
      body: { session_id: sessionId, text: 'We are open from nine to six.', format: 'wav' },
    },
  },
};

export const linkStatus: Record<string, OperationEntry> = {
  'POST /console/api/workspaces/{w}/assistants/{id}/link/identity': {
    does: 'Makes the secret with which the server of a site signs who its visitors are. It is shown once; its text is the key of the HMAC.',
    repeat: 'A repeat rotates it: the one before is good for another day.',
    surprises: 'An unknown assistant is 404 `assistant_not_found`, an unknown workspace 404 `route_not_found`.',
    answer: { secret: 'idn_8m2k4c6q9v1x3z5b7n0h2j4k6p8r0t2w' },
  },
  'DELETE /console/api/workspaces/{w}/assistants/{id}/link/identity': {
    does: 'Removes the secret: no identity is good any more. Visitors keep their sessions, which are unverified from their next message on.',
    repeat: 'A repeat changes nothing.',
    surprises: 'An unknown assistant is 404 `assistant_not_found`, an unknown workspace 404 `route_not_found`.',
  },
  'GET /console/api/workspaces/{w}/assistants/{id}/link': {
    does: `Returns the address of the public link and the HTML of the widget, both null without a slug, and the link's use of its limits on this day in UTC. \
\`refused\` counts requests by the limit that refused them; a request that several limits refuse counts for each. \
\`X-Visitor-Addresses\` is \`shared\` where a request came with \`X-Forwarded-For\` from an address that \`PARLEY_TRUSTED_PROXIES\` does not name. If that is a proxy, all visitors share the limits of one address; a visitor can also have made the header up.`,
    surprises: 'An unknown assistant is 404 `assistant_not_found`, an unknown workspace 404 `route_not_found`.',
    answer: {
      object: 'link_status',
      url: `https://parley.example.com/p/${example.slug}`,
      snippet: `<script src="https://parley.example.com/widget.js" data-slug="${example.slug}" async></script>`,
      day: '2026-09-21',
      minutes_used: 41.5,
      visitors_present: 3,
      refused: {
        ...{
          minutes_per_day: 0,
          concurrent_visitors: 2,
          messages_per_visitor_per_day: 0,
          messages_per_address_per_hour: 1,
        },
        ...{ places_per_address: 4, minutes_per_address: 0 },
      },
      resets_at: 1_790_035_200,
    },
  },
};
