/** The reference's texts on conversations in the console. */
import { limits } from '../../base/limits.ts';
import type { Area } from './entry.ts';
import * as example from './examples.ts';

const inWorkspace = '/console/api/workspaces/{w}';
const unknown =
  "An unknown workspace is 404 `route_not_found`, an unknown session, and one past the workspace's retention, 404 `session_not_found`.";

export const load: Area = {
  name: 'Console: load',
  group: 'Console',
  description: 'How busy the installation is.',
  entries: {
    'GET /console/api/load': {
      does: `Returns the last hour in steps of ${limits.loadStepSeconds} seconds, oldest first, of all processes together: sums, but for the lag of the slowest process, the mean time of the store's steps, and percentiles. \
A value is null where nothing was measured in its step. The last step is under way, and only the process that answers is in it yet.`,
      answer: example.load,
    },
  },
};

export const desk: Area = {
  name: 'Console: trials',
  group: 'Console',
  description:
    'A trial is a conversation of the console with an assistant, before it is published or after. It counts in no usage, takes no budget and none of the turns in flight, and the API has no such session.',
  entries: {
    [`POST ${inWorkspace}/assistants/{id}/trials`]: {
      does: `Opens a trial: a session with \`channel\` \`console\`, which needs no visitor fields. A draft answers in it too. A workspace has at most ${limits.trialsOpenMax} trials open at a time; \
one that has ended or expired leaves its place at once. Takes no body.`,
      repeat: 'A repeat opens a second trial.',
      surprises:
        'One trial too many is 429 `rate_limited` with `Retry-After: 1`. An assistant that is switched off is 409 `assistant_disabled`. An unknown workspace is 404 `route_not_found`, an unknown assistant 404 `assistant_not_found`.',
      answer: example.trial,
    },
    [`POST ${inWorkspace}/sessions/{id}/chat`]: {
      does: 'Sends a message in a trial and streams the reply, as `POST /sessions/{id}/chat` does.',
      repeat:
        "Without an `Idempotency-Key`, a repeat sends the message twice. With one, the same key and body join the same turn's stream from its beginning, for 24 hours, with `Idempotent-Replayed: true`.",
      surprises: `A session that is no trial is 404 \`session_not_found\`. ${unknown} A second turn in a trial is 409 \`turn_in_progress\`.`,
      headers: { 'Idempotency-Key': example.idempotencyKey },
      body: { message: example.question },
      answer: example.wholeStream,
    },
    [`POST ${inWorkspace}/sessions/{id}/call-tokens`]: {
      does: 'Returns a token that opens one call on a trial, as `POST /call-tokens` does. Takes no body.',
      repeat: 'A repeat makes a second token; the first stays good.',
      surprises: `A session that is no trial is 404 \`session_not_found\`. ${unknown}`,
      answer: example.callToken,
    },
    [`POST ${inWorkspace}/sessions/{id}/end`]: {
      does: 'Ends a session of the workspace, whoever opened it, and aborts its turn in flight. Takes no body.',
      repeat: 'Ending a session that is over changes nothing and returns it as it is.',
      surprises: unknown,
      answer: example.endedTrial,
    },
    [`GET ${inWorkspace}/sessions/{id}/events`]: {
      does: 'Streams what happens in any session of the workspace, as `GET /sessions/{id}/events` does.',
      surprises: `204 if the session has ended and no event is left. A cursor beyond the last event is 422 as \`after\`, 400 as \`Last-Event-ID\`. ${unknown}`,
      query: { after: 2 },
      answer: example.sessionStream,
    },
    [`GET ${inWorkspace}/sessions/{id}/turns/{turn_id}`]: {
      does: 'Returns a turn with the model that was asked last: `fallback` 0 is the model of the assistant, 1 and 2 are its `model.fallbacks`. `model` is null while the turn streams, and in turns of earlier versions.',
      surprises: 'An unknown turn is 404 `turn_not_found`.',
      answer: {
        ...example.turn,
        status: 'completed',
        stop_reason: 'end',
        model: { provider: 'openai', name: 'gpt-4.1-mini', fallback: 0 },
      },
    },
    [`POST ${inWorkspace}/sessions/{id}/turns/{turn_id}/abort`]: {
      does: 'Aborts a turn in flight of any session of the workspace, and returns it as it ended. Takes no body.',
      repeat: 'Aborting a turn that is over changes nothing.',
      surprises: `An unknown turn is 404 \`turn_not_found\`. ${unknown}`,
      answer: example.turn,
    },
    [`GET ${inWorkspace}/sessions/{id}/turns/{turn_id}/events`]: {
      does: 'Streams a turn of any session of the workspace, in flight or over, as `GET /sessions/{id}/turns/{turn_id}/events` does.',
      surprises: `A cursor beyond the output there is so far is 422 \`invalid_request\`. A \`Last-Event-ID\` that is no count is 400, an \`after\` that is none 422. ${unknown}`,
      query: { after: 31 },
      answer: example.restOfStream,
    },
  },
};
