/** The API's own paths, and those that need no key (contract 6). */
import { Type } from 'typebox';
import { getAssistant, listAssistants } from '../handlers/assistants.ts';
import { chat } from '../handlers/chat.ts';
import { ask } from '../handlers/desk.ts';
import { docs } from '../handlers/docs.ts';
import * as service from '../handlers/service.ts';
import { createSession, endSession, getSession, listSessions } from '../handlers/sessions.ts';
import { transcript } from '../handlers/transcript.ts';
import { sessionEvents } from '../handlers/session-events.ts';
import { abortTurn, rateTurn, turnEvents, unrateTurn } from '../handlers/turns.ts';
import { usage } from '../handlers/usage.ts';
import { listVoices, speech } from '../handlers/speech.ts';
import { createCallToken } from '../handlers/calls.ts';
import { createTranscriptionToken } from '../handlers/transcription.ts';
import { limits } from '../../base/limits.ts';
import type { Route, Success } from '../request.ts';
import * as wire from '../../wire/wire.ts';
import { api, json, nothingLeft, open, text } from './row.ts';

/** A turn as a stream. */
export const turnStream: Success = {
  status: 200,
  description:
    "The turn's events: turn.started, any number of message.delta, and one of turn.completed, turn.aborted and error. Of a chat that is accepted for a person: message.accepted alone, and no `X-Turn-Id`.",
  content: { type: 'text/event-stream', schema: wire.TurnStream },
  headers: ['Cache-Control', 'X-Accel-Buffering', 'X-Turn-Id'],
};

/** Speech as it is made. */
export const speechStream: Success = {
  status: 200,
  description: 'The audio, as it is made or whole.',
  content: { type: 'audio/wav', schema: wire.Audio },
  exports: ['audio/pcm', 'audio/mpeg', 'audio/ogg'],
  headers: ['X-Accel-Buffering', 'X-Audio-Sample-Rate'],
};

/** A session's events as a stream. */
export const sessionStream: Success = {
  status: 200,
  description:
    'The events of the session: message.created, turn.started, turn.ended, attendance.changed, and session.ended, after which it closes.',
  orNothing: 'The session has ended, and no event is left.',
  content: { type: 'text/event-stream', schema: wire.SessionStream },
  headers: ['Cache-Control', 'X-Accel-Buffering'],
};

const onSession = ['session_not_found', 'assistant_not_permitted'] as const;
const onTurn = [...onSession, 'turn_not_found'] as const;
const onVoice = [
  'assistant_not_found',
  'assistant_not_permitted',
  'assistant_not_published',
  'assistant_disabled',
  'voice_disabled',
  'voice_unavailable',
] as const;

export const apiRoutes: readonly Route[] = [
  api('GET', '/assistants', listAssistants, {
    summary: 'Lists the assistants that the key reaches.',
    query: wire.AssistantsQuery,
    success: json(wire.AssistantList, 'A page of assistants.'),
  }),
  api('GET', '/assistants/{id}', getAssistant, {
    summary: 'Fetches an assistant; answers 304 to a matching If-None-Match.',
    success: json(wire.AssistantView, 'The assistant.', 200, ['ETag', 'Cache-Control']),
    errors: ['assistant_not_found', 'assistant_not_permitted'],
  }),
  api('POST', '/sessions', createSession, {
    summary: 'Opens a session. Without an Idempotency-Key a retry opens a second one.',
    body: wire.CreateSessionBody,
    success: json(wire.SessionView, 'The session.', 201, ['Location']),
    errors: [
      'assistant_not_found',
      'assistant_not_permitted',
      'missing_visitor_fields',
      'assistant_not_published',
      'assistant_disabled',
      'idempotency_mismatch',
    ],
    newWork: true,
    repeatable: true,
  }),
  api('GET', '/sessions', listSessions, {
    summary: 'Lists sessions, newest first.',
    query: wire.SessionsQuery,
    success: json(wire.SessionList, 'A page of sessions.'),
    errors: ['assistant_not_found'],
  }),
  api('GET', '/sessions/{id}', getSession, {
    summary: 'Fetches a session.',
    success: json(wire.SessionView, 'The session.'),
    errors: onSession,
  }),
  api('POST', '/sessions/{id}/end', endSession, {
    summary: 'Ends a session and aborts its turn in flight.',
    success: json(wire.SessionView, 'The session.'),
    errors: onSession,
  }),
  api('POST', '/sessions/{id}/ask', ask, {
    summary: 'Asks for a person to take the session; changes nothing on one that waits or has a person.',
    body: wire.AskBody,
    bodyOptional: true,
    success: json(wire.SessionView, 'The session.'),
    errors: [...onSession, 'route_not_found', 'session_ended', 'session_expired'],
  }),
  api('POST', '/sessions/{id}/chat', chat, {
    summary: 'Sends a message; the reply streams back.',
    body: wire.ChatBody,
    tooLong: { message: { name: 'message_too_long', limit: limits.messageCharactersMax } },
    success: turnStream,
    errors: [
      ...onSession,
      'message_too_long',
      'idempotency_mismatch',
      'assistant_not_found',
      'session_ended',
      'session_expired',
      'assistant_not_published',
      'assistant_disabled',
      'turn_in_progress',
      'rate_limited',
      'assistant_unavailable',
    ],
    newWork: true,
    repeatable: true,
  }),
  api('POST', '/sessions/{id}/turns/{turn_id}/abort', abortTurn, {
    summary: 'Aborts a turn in flight; changes nothing on a finished one.',
    success: json(wire.TurnView, 'The turn.'),
    errors: onTurn,
  }),
  api('PUT', '/sessions/{id}/turns/{turn_id}/feedback', rateTurn, {
    summary: 'Rates the reply of a finished turn.',
    body: wire.RateTurnBody,
    success: json(wire.TurnView, 'The turn.'),
    errors: [...onTurn, 'turn_in_progress'],
  }),
  api('DELETE', '/sessions/{id}/turns/{turn_id}/feedback', unrateTurn, {
    summary: 'Removes the feedback on a turn.',
    success: nothingLeft,
    errors: [...onTurn, 'turn_in_progress'],
  }),
  api('GET', '/sessions/{id}/turns/{turn_id}/events', turnEvents, {
    summary: "A turn's stream again, from the beginning or from behind a cursor.",
    query: wire.EventsQuery,
    success: turnStream,
    errors: [...onTurn, 'unreadable_header'],
  }),
  api('GET', '/sessions/{id}/events', sessionEvents, {
    summary: "The session's events from now on, or from behind a cursor.",
    query: wire.SessionEventsQuery,
    success: sessionStream,
    errors: [...onSession, 'unreadable_header', 'rate_limited', 'service_unavailable'],
  }),
  api('GET', '/sessions/{id}/transcript', transcript, {
    summary: "Lists a session's messages, oldest first; a page of long ones has fewer than requested.",
    query: wire.TranscriptQuery,
    success: json(wire.MessageList, 'A page of messages.'),
    errors: onSession,
  }),
  api('GET', '/usage', usage, {
    summary: 'Usage over a window of at most 90 days.',
    query: wire.UsageQuery,
    success: json(wire.UsageView, 'Usage by bucket and in all.'),
    errors: ['assistant_not_found', 'invalid_range'],
  }),
  api('GET', '/voices', listVoices, {
    summary: "Lists the voices of an assistant's provider.",
    query: wire.VoicesQuery,
    success: json(wire.VoiceList, 'A page of voices.'),
    errors: ['assistant_not_found'],
  }),
  api('POST', '/speech', speech, {
    summary: 'Speaks a text, sentence by sentence.',
    body: wire.SpeechBody,
    tooLong: { text: { name: 'text_too_long', limit: limits.speechCharactersMax } },
    success: speechStream,
    errors: [...onVoice, 'text_too_long', 'assistant_unavailable'],
    newWork: true,
    budget: 'speech',
  }),
  api('POST', '/transcription-tokens', createTranscriptionToken, {
    summary: 'Mints a token for one transcription socket.',
    body: wire.CreateTranscriptionTokenBody,
    success: json(wire.TranscriptionTokenView, 'The token.', 201),
    errors: [...onVoice, 'session_not_found', 'session_ended', 'session_expired'],
    newWork: true,
    budget: 'transcriptionTokens',
  }),
  api('POST', '/call-tokens', createCallToken, {
    summary: 'Mints a token for one call on a session.',
    body: wire.CreateCallTokenBody,
    success: json(wire.CallTokenView, 'The token.', 201),
    errors: [...onVoice, 'session_not_found', 'session_ended', 'session_expired', 'session_taken'],
    newWork: true,
    budget: 'transcriptionTokens',
  }),
];

const document = Type.Object({
  openapi: Type.String(),
  info: Type.Object({ title: Type.String(), version: Type.String() }),
});
export const documentRoute: Route = open('GET', '/openapi.json', service.openapi, {
  summary: 'This document.',
  success: json(document, 'The OpenAPI document.', 200, ['ETag', 'Cache-Control']),
});

const asyncapiDocument = Type.Object({
  asyncapi: Type.String(),
  info: Type.Object({ title: Type.String(), version: Type.String() }),
});
export const asyncapiRoute: Route = open('GET', '/asyncapi.json', service.asyncapi, {
  summary: 'The transcription socket as an AsyncAPI document.',
  success: json(asyncapiDocument, 'The AsyncAPI document.', 200, ['ETag', 'Cache-Control']),
});

export const docsRoute: Route = open('GET', '/docs', docs, {
  summary: 'This document as a page.',
  success: text('text/html', 'The page.', ['ETag', 'Cache-Control']),
});

/** The paths for operators of a server. */
export const serviceRoutes: readonly Route[] = [
  open('GET', '/healthz', service.healthz, {
    summary: 'Whether the process lives.',
    success: json(Type.Object({ status: Type.Literal('ok') }), 'It does.', 200, ['X-Reached-At']),
  }),
  open('GET', '/readyz', service.readyz, {
    summary: 'Whether the process takes work.',
    success: json(Type.Object({ status: Type.Literal('ready') }), 'It does.'),
    errors: ['service_unavailable'],
  }),
  open('GET', '/metrics', service.metrics, {
    summary: "Metrics in Prometheus' format.",
    success: text('text/plain', 'The metrics.'),
  }),
];
