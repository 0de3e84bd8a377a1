/** The paths of an assistant's public link (contract 9), and the preflight requests of browsers. */
import { chat } from '../handlers/chat.ts';
import { ask } from '../handlers/desk.ts';
import * as link from '../handlers/link.ts';
import { framePage, linkFile, linkPage, widget } from '../handlers/link-pages.ts';
import { endSession, getSession } from '../handlers/sessions.ts';
import { transcript } from '../handlers/transcript.ts';
import { sessionEvents } from '../handlers/session-events.ts';
import { abortTurn, rateTurn, turnEvents, unrateTurn } from '../handlers/turns.ts';
import { limits } from '../../base/limits.ts';
import type { Route } from '../request.ts';
import * as wire from '../../wire/wire.ts';
import { sessionStream, speechStream, turnStream } from './api.ts';
import { guest, json, newcomer, nothingLeft, open, text, visitor } from './row.ts';

const session = '/p/{slug}/sessions/{id}';
const onSession = ['session_not_found'] as const;
const onTurn = [...onSession, 'turn_not_found'] as const;
const ofState = ['assistant_not_published', 'assistant_disabled'] as const;
const over = ['session_ended', 'session_expired'] as const;
const onVoice = [...onSession, ...over, ...ofState, 'voice_disabled', 'voice_unavailable'] as const;

export const linkRoutes: readonly Route[] = [
  guest('GET', '/p/{slug}/about', link.aboutLink, {
    summary: 'The public part of the assistant, for a page.',
    success: json(wire.LinkView, 'The link.'),
  }),
  newcomer('POST', '/p/{slug}/visitors', link.createVisitor, {
    summary: "Names a visitor, or renews a visitor's token.",
    body: wire.CreateVisitorBody,
    success: json(wire.VisitorView, 'The visitor with the token.', 201, ['Cache-Control']),
    errors: ['invalid_token', 'rate_limited'],
  }),
  visitor('POST', '/p/{slug}/sessions', link.createLinkSession, {
    summary: 'Opens a session of the visitor.',
    body: wire.CreateLinkSessionBody,
    success: json(wire.SessionView, 'The session.', 201, ['Location']),
    errors: ['missing_visitor_fields', ...ofState, 'idempotency_mismatch'],
    newWork: true,
    repeatable: true,
  }),
  visitor('GET', session, getSession, {
    summary: 'Fetches a session of the visitor.',
    success: json(wire.SessionView, 'The session.'),
    errors: onSession,
  }),
  visitor('GET', `${session}/transcript`, transcript, {
    summary: "Lists the messages of a visitor's session, oldest first; a page of long ones has fewer than requested.",
    query: wire.TranscriptQuery,
    success: json(wire.MessageList, 'A page of messages.'),
    errors: [...onSession, 'invalid_field'],
  }),
  visitor('GET', `${session}/events`, sessionEvents, {
    summary: "The events of a visitor's session from now on, or from behind a cursor.",
    query: wire.SessionEventsQuery,
    success: sessionStream,
    errors: [...onSession, 'invalid_field', 'unreadable_header', 'rate_limited', 'service_unavailable'],
  }),
  visitor('POST', `${session}/end`, endSession, {
    summary: 'Ends a session of the visitor and aborts its turn in flight.',
    success: json(wire.SessionView, 'The session.'),
    errors: onSession,
  }),
  visitor('POST', `${session}/ask`, ask, {
    summary: 'Asks for a person to take the session; changes nothing on one that waits or has a person.',
    body: wire.AskBody,
    bodyOptional: true,
    success: json(wire.SessionView, 'The session.'),
    errors: [...onSession, 'route_not_found', ...over, 'rate_limited'],
  }),
  visitor('POST', `${session}/chat`, chat, {
    summary: 'Sends a message; the reply streams back.',
    body: wire.ChatBody,
    tooLong: { message: { name: 'message_too_long', limit: limits.messageCharactersMax } },
    success: turnStream,
    errors: [
      ...onSession,
      'message_too_long',
      'idempotency_mismatch',
      ...over,
      ...ofState,
      'turn_in_progress',
      'assistant_unavailable',
    ],
    newWork: true,
    repeatable: true,
  }),
  visitor('POST', `${session}/turns/{turn_id}/abort`, abortTurn, {
    summary: 'Aborts a turn in flight; changes nothing on a finished one.',
    success: json(wire.TurnView, 'The turn.'),
    errors: onTurn,
  }),
  visitor('PUT', `${session}/turns/{turn_id}/feedback`, rateTurn, {
    summary: 'Rates the reply of a finished turn.',
    body: wire.RateTurnBody,
    success: json(wire.TurnView, 'The turn.'),
    errors: [...onTurn, 'route_not_found', 'turn_in_progress', 'rate_limited'],
  }),
  visitor('DELETE', `${session}/turns/{turn_id}/feedback`, unrateTurn, {
    summary: 'Removes the feedback on a turn.',
    success: nothingLeft,
    errors: [...onTurn, 'route_not_found', 'turn_in_progress', 'rate_limited'],
  }),
  visitor('GET', `${session}/turns/{turn_id}/events`, turnEvents, {
    summary: "A turn's stream again, from the beginning or from behind a cursor.",
    query: wire.EventsQuery,
    success: turnStream,
    errors: [...onTurn, 'invalid_field'],
  }),
  visitor('POST', '/p/{slug}/transcription-tokens', link.createLinkTranscriptionToken, {
    summary: 'Mints a token for one transcription socket of a session.',
    body: wire.CreateLinkTranscriptionTokenBody,
    success: json(wire.TranscriptionTokenView, 'The token.', 201),
    errors: onVoice,
    newWork: true,
  }),
  visitor('POST', '/p/{slug}/call-tokens', link.createLinkCallToken, {
    summary: 'Mints a token for one call on a session.',
    body: wire.CreateCallTokenBody,
    success: json(wire.CallTokenView, 'The token.', 201),
    errors: [...onVoice, 'session_taken'],
    newWork: true,
  }),
  visitor('POST', '/p/{slug}/speech', link.linkSpeech, {
    summary: 'Speaks a text, sentence by sentence.',
    body: wire.LinkSpeechBody,
    tooLong: { text: { name: 'text_too_long', limit: limits.speechCharactersMax } },
    success: speechStream,
    errors: [...onVoice, 'text_too_long', 'assistant_unavailable'],
    newWork: true,
  }),
];

/** The pages, which no document has: they are for people. */
export const linkPages: readonly Route[] = [
  open('GET', '/p/{slug}', linkPage, {
    summary: 'The page of the public link.',
    query: wire.LinkPageQuery,
    success: text('text/html', 'The page.', ['ETag']),
  }),
  open('GET', '/p/{slug}/frame', framePage, {
    summary: 'The page for the widget of one site.',
    query: wire.FrameQuery,
    success: text('text/html', 'The page.', ['ETag']),
  }),
  open('GET', '/link/{file}', linkFile, {
    summary: 'A script or a style of these pages.',
    success: text('text/javascript', 'The file.', ['ETag']),
  }),
  open('GET', '/widget.js', widget, {
    summary: "The widget's loader.",
    success: text('text/javascript', 'The script.', ['ETag']),
  }),
];

/** `OPTIONS` of the API's paths and of no other. It is no operation of the API, so no document has it. */
export const preflightRoutes: readonly Route[] = [...new Set(linkRoutes.map(({ path }) => path))].map((path) =>
  guest('OPTIONS', path, link.preflight, {
    summary: 'The preflight request of a browser.',
    success: { status: 204, description: 'The permitted requests.', content: null },
  }),
);
