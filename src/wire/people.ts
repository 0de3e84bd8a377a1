/** The shapes of people, their roles and the audit (contract 22). */
import { Type, type Static } from 'typebox';
import { limits } from '../base/limits.ts';
import { roles } from '../base/roles.ts';
import { Id, indexQuery, listOf, named, Nullable, recordsQuery, Strings, Text, UnixSeconds } from './basics.ts';

export const RoleName = Strings(
  roles,
  'From the strongest to the weakest, apart from the desk, which attendants work.',
);
/** The workspace of a role, as answers have it. */
export const RoleWorkspace = Nullable(
  Type.String({ description: 'The workspace that the role is for; null for all workspaces.' }),
);
/** The workspace of a role, as requests name it. */
export const WantedWorkspace = Nullable(Text(limits.nameCharactersMax, 1, 'A workspace; null for all workspaces.'));
export const PersonId = Type.String({
  description: 'An id that begins with `prs_`, or `operator` for all who use the operator token.',
});

export const ConsolePersonView = named(
  'ConsolePerson',
  Type.Object({
    object: Type.Literal('person'),
    id: PersonId,
    name: Type.String(),
    role: RoleName,
    workspace_id: RoleWorkspace,
    source: Strings(['link', 'oidc', 'token'], 'The way in which the person signs in.'),
    blocked: Type.Boolean(),
    last_seen_at: Nullable(UnixSeconds()),
  }),
);
export type ConsolePersonView = Static<typeof ConsolePersonView>;
export const ConsolePersonList = listOf('ConsolePersonList', ConsolePersonView);
export const PeopleQuery = Type.Object(indexQuery());

export const PatchPersonBody = named(
  'PatchPerson',
  Type.Object({
    role: Type.Optional(RoleName),
    workspace_id: Type.Optional(WantedWorkspace),
    blocked: Type.Optional(
      Type.Boolean({ description: "Whether the person may not sign in; true ends the person's sign-ins at once." }),
    ),
  }),
);
export type PatchPersonBody = Static<typeof PatchPersonBody>;

export const AuditEntryView = named(
  'AuditEntry',
  Type.Object({
    object: Type.Literal('audit_entry'),
    id: Id('aud'),
    at: UnixSeconds(),
    by: Type.Object({
      id: PersonId,
      name: Type.String(),
      role: RoleName,
      address: Nullable(Type.String({ description: 'The network address that the request came from.' })),
    }),
    action: Type.String({ description: 'The verb: `create`, `update`, `delete`, `publish`, `sign_in`, …' }),
    object_type: Type.String({ description: 'The kind of thing that was changed, as in its own `object`.' }),
    object_id: Type.String(),
    workspace_id: Nullable(Type.String({ description: 'Null for what belongs to no workspace.' })),
    changes: Type.Array(
      Type.Object({
        path: Type.String({ description: 'The field, as in the API: `model.system_prompt`.' }),
        before: Type.Unknown({ description: 'Null in a creation.' }),
        after: Type.Unknown({ description: 'Null in a deletion.' }),
      }),
      { description: 'No secret is among them.' },
    ),
  }),
);
export type AuditEntryView = Static<typeof AuditEntryView>;
export const AuditEntryList = listOf('AuditEntryList', AuditEntryView);

export const AuditQuery = Type.Object({
  ...recordsQuery('aud'),
  workspace: Type.Optional(Type.String({ description: 'Only changes in this workspace.' })),
  by: Type.Optional(Type.String({ description: 'Only changes by the person with this id or this name.' })),
  object_id: Type.Optional(Type.String({ description: 'Only changes of this object.' })),
});
export type AuditQuery = Static<typeof AuditQuery>;
