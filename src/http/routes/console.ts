/** The console's API (contract 9). */
import * as assistants from '../console/assistants.ts';
import { testCredential } from '../console/credential-test.ts';
import * as credentials from '../console/credentials.ts';
import { csvType, markdownType } from '../console/exports.ts';
import { createIdentity, deleteIdentity, linkStatus } from '../console/link.ts';
import * as keys from '../console/keys.ts';
import * as machines from '../console/machines.ts';
import { rotateKey } from '../console/rotation.ts';
import { previewAssistant } from '../console/preview.ts';
import * as workspaces from '../console/workspaces.ts';
import type { Route } from '../request.ts';
import * as wire from '../../wire/wire.ts';
import { deskRoutes } from './desk.ts';
import { erasureRoutes } from './erasures.ts';
import { peopleRoutes } from './people.ts';
import { testRoutes } from './tests.ts';
import { toolRoutes } from './tools.ts';
import { versionRoutes } from './versions.ts';
import { webhookRoutes } from './webhooks.ts';
import { json, nothingLeft, open, operator } from './row.ts';
import { assistantHistory, keyHistory, sessionHistory, turnHistory } from '../console/history.ts';
import * as signing from '../console/sign-in.ts';

const path = '/console/api';

const signInRoutes: readonly Route[] = [
  open('POST', `${path}/sign-in`, signing.signIn, {
    summary: 'Signs a person in.',
    body: wire.SignInBody,
    success: {
      status: 204,
      description: 'The person is signed in, by the cookie of this answer.',
      content: null,
      headers: ['Set-Cookie', 'Cache-Control'],
    },
    errors: ['invalid_field', 'insecure_sign_in', 'invalid_token', 'rate_limited', 'service_unavailable'],
  }),
  operator('POST', `${path}/sign-out`, 'self.sign_out', signing.signOut, {
    summary: 'Signs the person out.',
    body: wire.SignOutBody,
    bodyOptional: true,
    success: { status: 204, description: 'The sign-in has ended.', content: null },
  }),
  operator('GET', `${path}/me`, 'self.read', signing.getMe, {
    summary: 'Says who is signed in.',
    success: json(wire.PersonView, 'The person.'),
  }),
  operator('GET', `${path}/sign-ins`, 'people.read', signing.listSignIns, {
    summary: 'Lists where people are signed in.',
    query: wire.SignInsQuery,
    success: json(wire.SignInList, 'A page of sign-ins.'),
  }),
  operator('DELETE', `${path}/sign-ins/{id}`, 'people.write', signing.deleteSignIn, {
    summary: 'Ends a sign-in.',
    success: nothingLeft,
    errors: ['route_not_found'],
  }),
  operator('POST', `${path}/sign-in-links`, 'people.write', signing.createSignInLink, {
    summary: 'Makes a link that signs a person in once.',
    body: wire.CreateSignInLinkBody,
    success: json(wire.SignInLinkView, 'The link.', 201, ['Cache-Control']),
    errors: ['route_not_found'],
  }),
];

const inWorkspace = '/console/api/workspaces/{w}';
const historyAnswer = { query: wire.HistoryQuery, success: json(wire.HistoryList, 'A page of the history.') };

const historyRoutes: readonly Route[] = [
  operator('GET', `${inWorkspace}/sessions/{id}/history`, 'sessions.read', sessionHistory, {
    summary: 'Lists the history of a session.',
    ...historyAnswer,
    errors: ['route_not_found', 'session_not_found'],
  }),
  operator('GET', `${inWorkspace}/sessions/{id}/turns/{turn_id}/history`, 'sessions.read', turnHistory, {
    summary: 'Lists the steps of a turn.',
    ...historyAnswer,
    errors: ['route_not_found', 'session_not_found', 'turn_not_found'],
  }),
  operator('GET', `${inWorkspace}/keys/{id}/history`, 'keys.read', keyHistory, {
    summary: 'Lists the history of an API key.',
    ...historyAnswer,
    errors: ['route_not_found'],
  }),
  operator('GET', `${inWorkspace}/assistants/{id}/history`, 'assistants.read', assistantHistory, {
    summary: 'Lists the history of an assistant.',
    ...historyAnswer,
    errors: ['route_not_found', 'assistant_not_found'],
  }),
];

const consoleErrors = ['route_not_found'] as const;
const credentialErrors = ['route_not_found', 'unencrypted_url'] as const;
const assistantErrors = ['route_not_found', 'assistant_not_found'] as const;

const moves = { publish: 'Publishes', unpublish: 'Unpublishes', disable: 'Disables', enable: 'Enables' } as const;
const moveErrors = {
  publish: ['draft_changed', 'tests_not_passed'],
  unpublish: [],
  disable: [],
  enable: ['tests_not_passed'],
} as const;

export const consoleRoutes: readonly Route[] = [
  ...signInRoutes,
  ...toolRoutes,
  ...webhookRoutes,
  ...versionRoutes,
  ...testRoutes,
  operator('GET', '/console/api/workspaces', 'workspaces.read', workspaces.listWorkspaces, {
    summary: 'Lists workspaces.',
    query: wire.WorkspacesQuery,
    success: json(wire.WorkspaceList, 'A page of workspaces.'),
  }),
  operator('POST', '/console/api/workspaces', 'workspaces.create', workspaces.createWorkspace, {
    summary: 'Creates a workspace.',
    body: wire.CreateWorkspaceBody,
    success: json(wire.WorkspaceView, 'The workspace.', 201, ['Location']),
  }),
  operator('GET', inWorkspace, 'workspaces.read', workspaces.getWorkspace, {
    summary: 'Fetches a workspace.',
    success: json(wire.WorkspaceView, 'The workspace.'),
    errors: consoleErrors,
  }),
  operator('PATCH', inWorkspace, 'workspaces.write', workspaces.patchWorkspace, {
    summary: 'Changes a workspace.',
    body: wire.PatchWorkspaceBody,
    success: json(wire.WorkspaceView, 'The workspace.'),
    errors: consoleErrors,
  }),
  operator('DELETE', inWorkspace, 'workspaces.write', workspaces.deleteWorkspace, {
    summary: 'Deletes a workspace with all that it holds.',
    success: nothingLeft,
    errors: consoleErrors,
  }),
  operator('GET', `${inWorkspace}/assistants`, 'assistants.read', assistants.listAssistants, {
    summary: 'Lists assistants.',
    query: wire.AssistantsQuery,
    success: json(wire.ConsoleAssistantList, 'A page of assistants.'),
    errors: consoleErrors,
  }),
  operator('POST', `${inWorkspace}/assistants`, 'assistants.write', assistants.createAssistant, {
    summary: 'Creates an assistant as a draft.',
    body: wire.CreateAssistantBody,
    success: json(wire.ConsoleAssistantView, 'The assistant.', 201, ['Location', 'ETag']),
    errors: consoleErrors,
  }),
  operator('GET', `${inWorkspace}/assistants/{id}`, 'assistants.read', assistants.getAssistant, {
    summary: 'Fetches an assistant.',
    success: json(wire.ConsoleAssistantView, 'The assistant.', 200, ['ETag']),
    errors: assistantErrors,
  }),
  operator('PATCH', `${inWorkspace}/assistants/{id}`, 'assistants.write', assistants.patchAssistant, {
    summary: 'Changes an assistant.',
    body: wire.PatchAssistantBody,
    success: json(wire.ConsoleAssistantView, 'The assistant.', 200, ['ETag']),
    errors: [...assistantErrors, 'draft_changed'],
  }),
  operator('DELETE', `${inWorkspace}/assistants/{id}`, 'assistants.write', assistants.deleteAssistant, {
    summary: 'Deletes an assistant.',
    success: nothingLeft,
    errors: assistantErrors,
  }),
  operator('POST', `${inWorkspace}/assistants/{id}/preview`, 'assistants.try', previewAssistant, {
    summary: 'Fills the variables of prompt and greeting as a session would get them.',
    body: wire.PreviewAssistantBody,
    success: json(wire.AssistantPreviewView, 'The filled texts.'),
    errors: [...assistantErrors, 'session_not_found'],
  }),
  operator('GET', `${inWorkspace}/assistants/{id}/link`, 'assistants.read', linkStatus, {
    summary: "The address of an assistant's public link, and today's usage.",
    success: json(wire.LinkStatusView, "The link's status.", 200, ['X-Visitor-Addresses']),
    errors: assistantErrors,
  }),
  operator('POST', `${inWorkspace}/assistants/{id}/link/identity`, 'assistants.write', createIdentity, {
    summary: 'Makes the secret that signs visitors, or rotates it.',
    success: json(wire.LinkIdentityView, 'The secret, once.', 201, ['Cache-Control']),
    errors: assistantErrors,
  }),
  operator('DELETE', `${inWorkspace}/assistants/{id}/link/identity`, 'assistants.write', deleteIdentity, {
    summary: 'Removes the secret that signs visitors.',
    success: nothingLeft,
    errors: assistantErrors,
  }),
  ...(Object.keys(moves) as (keyof typeof moves)[]).map((verb) =>
    operator('POST', `${inWorkspace}/assistants/{id}/${verb}`, 'assistants.write', assistants.moveAssistant(verb), {
      summary: `${moves[verb]} an assistant.`,
      ...(verb === 'publish' && { body: wire.PublishBody, bodyOptional: true }),
      success: json(wire.ConsoleAssistantView, 'The assistant.', 200, ['ETag']),
      errors: [...assistantErrors, ...moveErrors[verb]],
    }),
  ),
  operator('GET', `${inWorkspace}/keys`, 'keys.read', keys.listKeys, {
    summary: 'Lists API keys.',
    query: wire.KeysQuery,
    success: json(wire.KeyList, 'A page of keys.'),
    errors: consoleErrors,
  }),
  operator('POST', `${inWorkspace}/keys`, 'keys.write', keys.createKey, {
    summary: 'Creates an API key; this answer alone holds it.',
    body: wire.CreateKeyBody,
    success: json(wire.CreatedKeyView, 'The key.', 201, ['Location', 'Cache-Control']),
    errors: consoleErrors,
  }),
  operator('GET', `${inWorkspace}/keys/{id}`, 'keys.read', keys.getKey, {
    summary: 'Fetches an API key without its secret.',
    success: json(wire.KeyView, 'The key.'),
    errors: consoleErrors,
  }),
  operator('PATCH', `${inWorkspace}/keys/{id}`, 'keys.write', keys.patchKey, {
    summary: 'Changes an API key.',
    body: wire.PatchKeyBody,
    success: json(wire.KeyView, 'The key.'),
    errors: consoleErrors,
  }),
  operator('POST', `${inWorkspace}/keys/{id}/revoke`, 'keys.write', keys.revokeKey, {
    summary: 'Revokes an API key.',
    success: json(wire.KeyView, 'The key.'),
    errors: consoleErrors,
  }),
  operator('POST', `${inWorkspace}/keys/{id}/rotate`, 'keys.write', rotateKey, {
    summary: 'Replaces an API key by a new one; this answer alone holds it.',
    body: wire.RotateKeyBody,
    bodyOptional: true,
    success: json(wire.CreatedKeyView, 'The new key.', 201, ['Location', 'Cache-Control']),
    errors: consoleErrors,
  }),
  operator('GET', `${inWorkspace}/credentials`, 'credentials.read', credentials.listCredentials, {
    summary: "Lists providers' credentials without their secrets.",
    query: wire.CredentialsQuery,
    success: json(wire.CredentialList, 'A page of credentials.'),
    errors: consoleErrors,
  }),
  operator('POST', `${inWorkspace}/credentials`, 'credentials.write', credentials.createCredential, {
    summary: 'Stores a credential, encrypted.',
    body: wire.CreateCredentialBody,
    success: json(wire.CredentialView, 'The credential.', 201),
    errors: credentialErrors,
  }),
  operator('PATCH', `${inWorkspace}/credentials/{id}`, 'credentials.write', credentials.patchCredential, {
    summary: 'Changes a credential.',
    body: wire.PatchCredentialBody,
    success: json(wire.CredentialView, 'The credential.'),
    errors: credentialErrors,
  }),
  operator('DELETE', `${inWorkspace}/credentials/{id}`, 'credentials.write', credentials.deleteCredential, {
    summary: 'Deletes a credential.',
    success: nothingLeft,
    errors: consoleErrors,
  }),
  operator('POST', `${inWorkspace}/credentials/{id}/test`, 'credentials.write', testCredential, {
    summary: 'Asks the provider whether it accepts a credential.',
    success: json(wire.CredentialTestView, "The provider's verdict."),
    errors: consoleErrors,
  }),
  operator('GET', `${inWorkspace}/sessions`, 'sessions.read', workspaces.listWorkspaceSessions, {
    summary: "Lists a workspace's sessions.",
    query: wire.ConsoleSessionsQuery,
    success: json(wire.ConsoleSessionList, 'A page of sessions.'),
    errors: assistantErrors,
  }),
  operator('GET', `${inWorkspace}/sessions/{id}`, 'sessions.read', workspaces.getWorkspaceSession, {
    summary: 'Fetches a session.',
    success: json(wire.ConsoleSessionView, 'The session.'),
    errors: ['route_not_found', 'session_not_found'],
  }),
  operator('GET', `${inWorkspace}/sessions/{id}/transcript`, 'sessions.read', workspaces.getWorkspaceTranscript, {
    summary: "Lists a session's messages; a page of long ones has fewer than requested.",
    query: wire.ConsoleTranscriptQuery,
    success: {
      ...json(wire.MessageList, 'A page of messages, or the whole transcript in Markdown.'),
      exports: [markdownType],
    },
    errors: ['route_not_found', 'session_not_found'],
  }),
  operator('GET', `${inWorkspace}/usage`, 'usage.read', workspaces.getWorkspaceUsage, {
    summary: "A workspace's usage.",
    query: wire.ConsoleUsageQuery,
    success: { ...json(wire.UsageView, 'Usage by bucket and in all, or by bucket as CSV.'), exports: [csvType] },
    errors: ['route_not_found', 'assistant_not_found', 'invalid_range'],
  }),
  operator('GET', '/console/api/machines', 'machines.read', machines.listMachines, {
    summary: 'Lists the state machines.',
    query: wire.MachinesQuery,
    success: json(wire.MachineList, 'A page of machines.'),
  }),
  operator('GET', '/console/api/machines/{kind}', 'machines.read', machines.getMachine, {
    summary: 'Fetches the configuration of a state machine.',
    success: json(wire.MachineConfiguration, 'The configuration.'),
    errors: consoleErrors,
  }),
  ...deskRoutes,
  ...erasureRoutes,
  ...peopleRoutes,
  ...historyRoutes,
];
