/** Routes of the console's API beyond its records: trials, the conversations of a workspace, and the desk (contract 9, 23). */
import { getLoad } from '../console/load.ts';
import * as desk from '../console/desk.ts';
import * as trials from '../console/trials.ts';
import { getTurn } from '../console/turn.ts';
import { limits } from '../../base/limits.ts';
import type { Route } from '../request.ts';
import * as wire from '../../wire/wire.ts';
import { sessionStream, turnStream } from './api.ts';
import { json, operator } from './row.ts';

const inWorkspace = '/console/api/workspaces/{w}';
const sessionErrors = ['route_not_found', 'session_not_found'] as const;
const openErrors = [...sessionErrors, 'session_ended', 'session_expired', 'session_taken'] as const;
const turnErrors = [...sessionErrors, 'turn_not_found'] as const;

export const deskRoutes: readonly Route[] = [
  operator('GET', '/console/api/load', 'load.read', getLoad, {
    summary: 'The load of the last hour, all processes together.',
    success: json(wire.LoadView, 'The load.'),
  }),
  operator('POST', `${inWorkspace}/assistants/{id}/trials`, 'assistants.try', trials.createTrial, {
    summary: 'Opens a trial of an assistant, of a draft too.',
    success: json(wire.SessionView, 'The session.', 201, ['Location']),
    errors: ['route_not_found', 'assistant_not_found', 'assistant_disabled', 'rate_limited'],
    newWork: true,
  }),
  operator('POST', `${inWorkspace}/sessions/{id}/call-tokens`, 'assistants.try', trials.createTrialCallToken, {
    summary: 'Mints a token for one call on a trial.',
    success: json(wire.CallTokenView, 'The token.', 201),
    errors: [
      ...sessionErrors,
      'assistant_not_found',
      'session_ended',
      'session_expired',
      'session_taken',
      'assistant_disabled',
      'voice_disabled',
      'voice_unavailable',
    ],
    newWork: true,
  }),
  operator('POST', `${inWorkspace}/sessions/{id}/chat`, 'assistants.try', trials.chatInTrial, {
    summary: 'Sends a message in a trial; the reply streams back.',
    body: wire.ChatBody,
    tooLong: { message: { name: 'message_too_long', limit: limits.messageCharactersMax } },
    success: turnStream,
    errors: [
      ...sessionErrors,
      'message_too_long',
      'idempotency_mismatch',
      'assistant_not_found',
      'session_ended',
      'session_expired',
      'assistant_disabled',
      'turn_in_progress',
      'assistant_unavailable',
    ],
    newWork: true,
    repeatable: true,
  }),
  operator('POST', `${inWorkspace}/sessions/{id}/end`, 'sessions.end', trials.endWorkspaceSession, {
    summary: 'Ends a session of the workspace and aborts its turn in flight.',
    success: json(wire.SessionView, 'The session.'),
    errors: sessionErrors,
  }),
  operator('GET', `${inWorkspace}/desk`, 'desk.work', desk.getDesk, {
    summary: 'Lists the sessions that wait for a person, the longest first, and those that people have.',
    query: wire.DeskQuery,
    success: json(wire.DeskSessionList, 'A page of sessions.'),
    errors: ['route_not_found'],
  }),
  operator('POST', `${inWorkspace}/sessions/{id}/take`, 'desk.work', desk.takeSession, {
    summary: 'Takes an open session: from then on the assistant is silent.',
    success: json(wire.ConsoleSessionView, 'The session.'),
    errors: openErrors,
  }),
  operator('POST', `${inWorkspace}/sessions/{id}/messages`, 'desk.work', desk.sendMessage, {
    summary: 'Sends the visitor a message of the person who has the session.',
    body: wire.PersonMessageBody,
    tooLong: { text: { name: 'message_too_long', limit: limits.messageCharactersMax } },
    success: json(wire.MessageView, 'The message.', 201),
    errors: [...openErrors, 'message_too_long', 'idempotency_mismatch'],
    repeatable: true,
  }),
  operator('POST', `${inWorkspace}/sessions/{id}/return`, 'desk.work', desk.returnSession, {
    summary: 'Gives the session back to the assistant.',
    success: json(wire.ConsoleSessionView, 'The session.'),
    errors: openErrors,
  }),
  operator('POST', `${inWorkspace}/sessions/{id}/release`, 'desk.work', desk.releaseSession, {
    summary: 'Gives the session up: its visitor waits for the next person.',
    success: json(wire.ConsoleSessionView, 'The session.'),
    errors: openErrors,
  }),
  operator('GET', `${inWorkspace}/sessions/{id}/events`, 'sessions.read', trials.workspaceSessionEvents, {
    summary: 'The events of any session of the workspace from now on, or from behind a cursor.',
    query: wire.SessionEventsQuery,
    success: sessionStream,
    errors: [...sessionErrors, 'unreadable_header', 'rate_limited', 'service_unavailable'],
  }),
  operator('GET', `${inWorkspace}/sessions/{id}/turns/{turn_id}`, 'sessions.read', getTurn, {
    summary: 'Fetches a turn, with the model that was asked.',
    success: json(wire.ConsoleTurnView, 'The turn.'),
    errors: turnErrors,
  }),
  operator('POST', `${inWorkspace}/sessions/{id}/turns/{turn_id}/abort`, 'sessions.end', trials.abortWorkspaceTurn, {
    summary: 'Aborts a turn in flight of any session of the workspace.',
    success: json(wire.TurnView, 'The turn.'),
    errors: turnErrors,
  }),
  operator('GET', `${inWorkspace}/sessions/{id}/turns/{turn_id}/events`, 'sessions.read', trials.workspaceTurnEvents, {
    summary: 'The stream of a turn of any session of the workspace, from the beginning or from behind a cursor.',
    query: wire.EventsQuery,
    success: turnStream,
    errors: [...turnErrors, 'unreadable_header'],
  }),
];
