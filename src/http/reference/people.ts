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
    'PATCH /console/api/people/{id}': {
      does: "Changes a person's role, moves it to another workspace, or blocks the person. The next request has the new role, and what the person has open in the console is closed. A block ends the person's sign-ins at once.",
      repeat: 'A repeat changes nothing.',
      surprises:
        'An unknown person is 404 `route_not_found`; the operator cannot be changed: 403 `role_not_permitted`. An owner may demote or block themselves. The role of a person who signs in by OpenID Connect is that of the claims again with the next sign-in; a block stays.',
      body: { role: 'attendant', workspace_id: ids.workspace },
      answer: person,
    },
  },
};
