/** Asks what the signed-in person's role permits (contract 22). Pages offer nothing that the server would refuse. */
import { mayDo, type Permission } from '../../base/roles.ts';
import { drawnFor } from './person.ts';

export function may(permission: Permission): boolean {
  const person = drawnFor.value;
  return person !== null && mayDo({ role: person.role, workspaceId: person.workspace_id }, permission);
}

/** The operation that each page needs, by its first part in the address. */
const pages: Readonly<Record<string, Permission>> = {
  live: 'live.read',
  desk: 'desk.work',
  assistants: 'assistants.read',
  tools: 'tools.read',
  keys: 'keys.read',
  webhooks: 'webhooks.read',
  sessions: 'sessions.read',
  usage: 'usage.read',
  credentials: 'credentials.read',
  load: 'load.read',
  workspaces: 'workspaces.read',
  people: 'people.read',
  audit: 'audit.read',
};

/** Whether the role permits the page that begins so. */
export const mayRead = (page: string): boolean => may(pages[page]!);
