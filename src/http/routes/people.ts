/** Routes of people and their roles (contract 22). */
import { getAudit } from '../console/audit.ts';
import * as people from '../console/people.ts';
import type { Route } from '../request.ts';
import * as wire from '../../wire/wire.ts';
import { json, operator } from './row.ts';

export const peopleRoutes: readonly Route[] = [
  operator('GET', '/console/api/people', 'people.read', people.listPeople, {
    summary: 'Lists people and their roles.',
    query: wire.PeopleQuery,
    success: json(wire.ConsolePersonList, 'A page of people.'),
  }),
  operator('PATCH', '/console/api/people/{id}', 'people.write', people.patchPerson, {
    summary: "Changes a person's role, or blocks the person.",
    body: wire.PatchPersonBody,
    success: json(wire.ConsolePersonView, 'The person.'),
    errors: ['route_not_found'],
  }),
  operator('GET', '/console/api/audit', 'audit.read', getAudit, {
    summary: 'Lists who changed what.',
    query: wire.AuditQuery,
    success: json(wire.AuditEntryList, 'A page of the audit.'),
    errors: ['route_not_found'],
  }),
];
