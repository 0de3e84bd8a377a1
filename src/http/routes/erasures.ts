/** Routes of erasing a person (contract 22). */
import { eraseSession, eraseVisitor } from '../console/erasures.ts';
import type { Route } from '../request.ts';
import * as wire from '../../wire/wire.ts';
import { json, operator } from './row.ts';

const inWorkspace = '/console/api/workspaces/{w}';
const receipt = { success: json(wire.ErasureView, 'The receipt.'), errors: ['route_not_found'] } as const;

export const erasureRoutes: readonly Route[] = [
  operator('DELETE', `${inWorkspace}/sessions/{id}`, 'sessions.erase', eraseSession, {
    summary: 'Erases a session with all that it holds.',
    ...receipt,
  }),
  operator('DELETE', `${inWorkspace}/visitors/{visitor_id}`, 'sessions.erase', eraseVisitor, {
    summary: 'Erases a visitor: all sessions that the visitor held.',
    ...receipt,
  }),
];
