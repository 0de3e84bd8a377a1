/** The reference's texts on people and their roles. */
import { listOf, type Area } from './entry.ts';
import { ids, personName } from './examples.ts';

const person = {
  object: 'person',
  id: ids.person,
  name: personName,
  role: 'attendant',
  workspace_id: ids.workspace,
  source: 'link',
  blocked: false,
  last_seen_at: 1_790_000_000,
};

const auditEntry = {
  object: 'audit_entry',
  id: ids.audit,
  at: 1_790_000_000,
  by: { id: 'operator', name: 'operator', role: 'owner', address: '203.0.113.7' },
  action: 'update',
  object_type: 'workspace',
  object_id: ids.workspace,
  workspace_id: ids.workspace,
  changes: [{ path: 'turns_in_flight_max', before: 50, after: 25 }],
};

export const people: Area = {
  name: 'Console: people',
  group: 'Console',
  description:
    "People have a role for all workspaces or for one: an owner may do everything, an editor edits assistants and tools, an attendant works the desk and reads and ends sessions, a viewer reads. \
An operation that the role does not permit is 403 `role_not_permitted`, and another workspace than the role's is 404 `route_not_found`. The operator token is an owner of all workspaces.",
  entries: {
    'GET /console/api/people': {
      does: 'Returns the people who have signed in, the newest first, and the operator last. `limit` and `after` page through the list.',
      query: { limit: 10 },
      answer: listOf({ ...person, role: 'editor', workspace_id: null }),
      surprises: 'An owner of one workspace gets the people of that workspace. `last_seen_at` may be a minute old.',
    },
    'GET /console/api/audit': {
      does: 'Returns who changed what, the newest change first. Each change to a record or a conversation is one row, stored in the step that makes it; signing in and out are rows, reading is none. Rows are kept for 400 days.',
      query: { limit: 1 },
      answer: { ...listOf(auditEntry), has_more: true, next_cursor: ids.audit },
      surprises:
        'An owner of one workspace gets the changes of that workspace. A creation has `before: null` in each change, a deletion `after: null`. Prompts are in the rows, secrets never: the replacement of one is a change of `secret`. A filter that fits few rows may get a page with fewer of them than `limit`, or none, with a `next_cursor` to continue.',
    },
    'PATCH /console/api/people/{id}': {
      does: "Changes a person's role, moves it to another workspace, or blocks the person. The next request has the new role, and what the person has open in the console is closed. A block ends the person's sign-ins at once.",
      repeat: 'A repeat changes nothing.',
      surprises:
        'An unknown person is 404 `route_not_found`; the operator cannot be changed: 403 `role_not_permitted`. An owner may demote or block themselves. A role or a workspace that is set here stays at the next sign-in by OpenID Connect, as long as a rule matches the claims; a block stays.',
      body: { role: 'attendant', workspace_id: ids.workspace },
      answer: person,
    },
  },
};
