/** The console's API of the versions of assistants (contract 20). */
import * as versions from '../console/versions.ts';
import type { Route } from '../request.ts';
import * as wire from '../../wire/wire.ts';
import { json, operator } from './row.ts';

const path = '/console/api/workspaces/{w}/assistants/{id}';
const unknown = ['route_not_found', 'assistant_not_found'] as const;

export const versionRoutes: readonly Route[] = [
  operator('GET', `${path}/versions`, 'assistants.read', versions.listVersions, {
    summary: 'Lists the versions of an assistant, newest first.',
    query: wire.VersionsQuery,
    success: json(wire.VersionList, 'A page of versions.'),
    errors: unknown,
  }),
  operator('GET', `${path}/versions/{n}`, 'assistants.read', versions.getVersion, {
    summary: 'Fetches a version with its settings.',
    success: json(wire.VersionWithConfigView, 'The version.'),
    errors: [...unknown, 'version_not_found'],
  }),
  operator('GET', `${path}/versions/{n}/changes`, 'assistants.read', versions.versionChanges, {
    summary: 'Compares a version with another one, or with the draft.',
    query: wire.VersionChangesQuery,
    success: json(wire.VersionChangesView, 'The differences.'),
    errors: [...unknown, 'version_not_found'],
  }),
  operator('POST', `${path}/versions/{n}/restore`, 'assistants.write', versions.restoreVersion, {
    summary: "Makes a version's settings those of the draft.",
    success: json(wire.RestoredAssistantView, 'The assistant.', 200, ['ETag']),
    errors: [...unknown, 'version_not_found', 'draft_changed'],
  }),
  operator('POST', `${path}/rollback`, 'assistants.write', versions.rollBack, {
    summary: 'Makes an earlier version current.',
    body: wire.RollbackBody,
    bodyOptional: true,
    success: json(wire.ConsoleAssistantView, 'The assistant.', 200, ['ETag']),
    errors: [...unknown, 'version_not_found'],
  }),
  operator('POST', `${path}/rollout`, 'assistants.write', versions.rollOut, {
    summary: 'Rolls a version out to a share of new sessions.',
    body: wire.RolloutBody,
    success: json(wire.ConsoleAssistantView, 'The assistant.', 200, ['ETag']),
    errors: [...unknown, 'version_not_found', 'draft_changed', 'tests_not_passed'],
  }),
  operator('POST', `${path}/rollout/promote`, 'assistants.write', versions.changeRollout('promote'), {
    summary: 'Makes the candidate of a rollout current.',
    success: json(wire.ConsoleAssistantView, 'The assistant.', 200, ['ETag']),
    errors: [...unknown, 'version_not_found'],
  }),
  operator('POST', `${path}/rollout/end`, 'assistants.write', versions.changeRollout('end'), {
    summary: 'Ends a rollout and retires its candidate.',
    success: json(wire.ConsoleAssistantView, 'The assistant.', 200, ['ETag']),
    errors: [...unknown, 'version_not_found'],
  }),
  operator('POST', `${path}/recall`, 'assistants.write', versions.changeRollout('recall'), {
    summary: 'Moves every open session to the current version at its next turn.',
    success: json(wire.ConsoleAssistantView, 'The assistant.', 200, ['ETag']),
    errors: [...unknown, 'version_not_found'],
  }),
];
