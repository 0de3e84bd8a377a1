/**
 * Roles of the console's people (contract 22): the one table of what each may do. The API checks it, and the console's
 * pages read it to offer nothing that would be refused.
 */

/** From the strongest. */
export const roles = ['owner', 'editor', 'attendant', 'viewer'] as const;
export type Role = (typeof roles)[number];

/** The role of a person, and the workspace that it is for; null for all workspaces. */
export interface Grant {
  readonly role: Role;
  readonly workspaceId: string | null;
}

/** The grant of the operator token, and of sign-ins that were stored before roles existed. */
export const ownerOfAll: Grant = { role: 'owner', workspaceId: null };

const everyone = roles;
const owner = ['owner'] as const;
const builders = ['owner', 'editor'] as const;
const readers = ['owner', 'editor', 'viewer'] as const;
const attendants = ['owner', 'attendant'] as const;

/** The roles that may do each operation. */
export const permissions = {
  /** The person's own sign-in. */
  'self.read': everyone,
  'self.sign_out': everyone,

  'people.read': owner,
  'people.write': owner,
  'audit.read': owner,

  'workspaces.read': everyone,
  /** Only an owner of all workspaces may create one. */
  'workspaces.create': owner,
  'workspaces.write': owner,

  'assistants.read': everyone,
  'assistants.write': builders,
  /** Trials: a conversation with a draft, its voice, its filled texts. */
  'assistants.try': builders,
  'tools.read': builders,
  'tools.write': builders,
  'credentials.read': builders,
  'credentials.write': owner,
  'keys.read': owner,
  'keys.write': owner,
  'webhooks.read': readers,
  'webhooks.write': owner,

  'sessions.read': everyone,
  'sessions.end': ['owner', 'editor', 'attendant'],
  'sessions.erase': owner,
  /** The desk, where people answer. */
  'desk.work': attendants,
  'usage.read': readers,
  'load.read': readers,
  'machines.read': everyone,
  /** The live view; `showsLive` says which actors. */
  'live.read': everyone,
} as const satisfies Readonly<Record<string, readonly Role[]>>;

export type Permission = keyof typeof permissions;

/** Operations that touch no single workspace: a person of one workspace may not do them. */
const forAllWorkspaces: readonly Permission[] = ['workspaces.create'];

/** Whether a person with this grant may do an operation in a workspace that the grant reaches. */
export const mayDo = ({ role, workspaceId }: Grant, permission: Permission): boolean =>
  (permissions[permission] as readonly Role[]).includes(role) &&
  (workspaceId === null || !forAllWorkspaces.includes(permission));

/** Whether a workspace exists for a person with this grant. */
export const reaches = (grant: Grant, workspaceId: string | null): boolean =>
  grant.workspaceId === null || grant.workspaceId === workspaceId;

/** The actors that make up a conversation. */
const conversations: readonly string[] = ['session', 'attendance', 'turn', 'call', 'reply', 'socket', 'visitor'];

/** Whether the live view shows a person the actors of a kind. */
export const showsLive = (grant: Grant, kind: string): boolean =>
  conversations.includes(kind) || (kind === 'key' ? mayDo(grant, 'keys.read') : grant.role !== 'attendant');
