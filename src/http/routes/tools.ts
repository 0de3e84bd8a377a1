/** The console's API of tools (contract 13). */
import * as tools from '../console/tools.ts';
import { refreshTool } from '../console/tool-refresh.ts';
import { testTool } from '../console/tool-test.ts';
import { turnSteps } from '../console/turn-steps.ts';
import type { Route } from '../request.ts';
import * as wire from '../../wire/wire.ts';
import { json, nothingLeft, operator } from './row.ts';

const inWorkspace = '/console/api/workspaces/{w}';
const toolErrors = ['route_not_found', 'unencrypted_url'] as const;

export const toolRoutes: readonly Route[] = [
  operator('GET', `${inWorkspace}/tools`, 'tools.read', tools.listTools, {
    summary: 'Lists tools.',
    query: wire.ToolsQuery,
    success: json(wire.ToolList, 'A page of tools.'),
    errors: ['route_not_found'],
  }),
  operator('POST', `${inWorkspace}/tools`, 'tools.write', tools.createTool, {
    summary: 'Creates a tool.',
    body: wire.CreateToolBody,
    success: json(wire.CreatedToolView, 'The tool, with the secret that signs its requests.', 201, [
      'Location',
      'ETag',
      'Cache-Control',
    ]),
    errors: toolErrors,
  }),
  operator('GET', `${inWorkspace}/tools/{id}`, 'tools.read', tools.getTool, {
    summary: 'Fetches a tool.',
    success: json(wire.ToolView, 'The tool.', 200, ['ETag']),
    errors: ['route_not_found'],
  }),
  operator('PATCH', `${inWorkspace}/tools/{id}`, 'tools.write', tools.patchTool, {
    summary: 'Changes a tool.',
    body: wire.PatchToolBody,
    success: json(wire.ToolView, 'The tool.', 200, ['ETag']),
    errors: [...toolErrors, 'draft_changed'],
  }),
  operator('DELETE', `${inWorkspace}/tools/{id}`, 'tools.write', tools.deleteTool, {
    summary: 'Deletes a tool.',
    success: nothingLeft,
    errors: ['route_not_found'],
  }),
  operator('POST', `${inWorkspace}/tools/{id}/refresh`, 'tools.write', refreshTool, {
    summary: 'Reads the list of an MCP server again.',
    success: json(wire.RefreshedToolView, 'The tool, with what has changed.'),
    errors: ['route_not_found', 'invalid_field', 'service_unavailable'],
  }),
  operator('POST', `${inWorkspace}/tools/{id}/rotate-secret`, 'tools.write', tools.rotateSecret, {
    summary: 'Gives a tool a new signing secret.',
    success: json(wire.RotatedSecretView, 'The secret.', 200, ['Cache-Control']),
    errors: ['route_not_found', 'invalid_field'],
  }),
  operator('POST', `${inWorkspace}/tools/{id}/test`, 'tools.write', testTool, {
    summary: 'Calls a function of a tool.',
    body: wire.TestToolBody,
    success: json(wire.ToolTestView, 'How the call ended.'),
    errors: ['route_not_found', 'invalid_field', 'service_unavailable'],
  }),
  operator('GET', `${inWorkspace}/sessions/{id}/turns/{turn_id}/steps`, 'sessions.read', turnSteps, {
    summary: 'Lists what a turn did: its text and its calls.',
    success: json(wire.TurnStepList, 'The steps.'),
    errors: ['route_not_found', 'session_not_found', 'turn_not_found'],
  }),
];
