/** What moved sessions, keys and assistants (contract 9). */
import { assistantHistory, keyHistory, sessionHistory } from '../console/history.ts';
import type { Route } from '../request.ts';
import * as wire from '../wire.ts';
import { json, operator } from './row.ts';

const inWorkspace = '/console/api/workspaces/{w}';
const answer = { query: wire.HistoryQuery, success: json(wire.HistoryList, 'A page of the history.') };

export const historyRoutes: readonly Route[] = [
  operator('GET', `${inWorkspace}/sessions/{id}/history`, sessionHistory, { summary: 'Lists what moved a session.', ...answer, errors: ['route_not_found', 'session_not_found'] }),
  operator('GET', `${inWorkspace}/keys/{id}/history`, keyHistory, { summary: 'Lists what moved an API key.', ...answer, errors: ['route_not_found'] }),
  operator('GET', `${inWorkspace}/assistants/{id}/history`, assistantHistory, { summary: 'Lists what moved an assistant.', ...answer, errors: ['route_not_found', 'assistant_not_found'] }),
];
