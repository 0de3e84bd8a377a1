/** The reference's texts on signing in to the console. */
import { limits } from '../../base/limits.ts';
import { listOf, type Area } from './entry.ts';
import { ids, personName, signInToken } from './examples.ts';

const signedInAt = 1_790_000_000;
const expiresAt = signedInAt + limits.signInIdleSeconds;
const hours = limits.signInIdleSeconds / 3600;
const days = limits.signInSecondsMax / (24 * 3600);
const minutes = limits.signInLinkSeconds / 60;

export const signingIn: Area = {
  name: 'Console: signing in',
  group: 'Console',
  description: `People sign in with the operator token or with a link that is good once, and are known by a cookie from then on: for ${hours} hours after its last use, and ${days} days at most. \
A request with the cookie that changes something must come from a page of the same origin, or the cookie counts as absent.`,
  entries: {
    'POST /console/api/sign-in': {
      does: 'Signs a person in with the operator token or the token of a link, and sets the cookie. A link is used up by that.',
      cost: `A failure takes one of ${limits.failedSignInsPerMinute} a minute for the client's address and of ${limits.failedSignInsPerMinuteOfAll} for all; a success costs nothing.`,
      repeat: 'A repeat with the operator token signs in once more; with a link it is 401 `invalid_token`.',
      surprises:
        'Over plain HTTP it works on this machine alone: elsewhere it is 400 `invalid_request`. After too many failures a token that is not valid is 429 `rate_limited`; a valid one always signs in.',
      body: { token: signInToken },
    },
    'POST /console/api/sign-out': {
      does: 'Ends the sign-in, and the sockets that it has open. With `everywhere` all sign-ins of the same person end.',
      repeat: 'A repeat is 401 `missing_api_key`: the sign-in is over.',
      body: { everywhere: false },
    },
    'GET /console/api/me': {
      does: 'Returns the person who is signed in. The bearer of the operator token is `operator`, without times.',
      answer: {
        object: 'person',
        id: 'operator',
        name: 'operator',
        role: 'owner',
        workspace_id: null,
        signed_in_at: null,
        expires_at: null,
      },
    },
    'GET /console/api/sign-ins': {
      does: 'Returns where people are signed in, the latest sign-in first. `limit` and `after` page through the list.',
      query: { limit: 10 },
      answer: listOf({
        object: 'sign_in',
        id: ids.signIn,
        name: personName,
        signed_in_at: signedInAt,
        last_seen_at: signedInAt,
        expires_at: expiresAt,
        address: '203.0.113.7',
        agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0',
        current: false,
      }),
    },
    'DELETE /console/api/sign-ins/{id}': {
      does: 'Ends a sign-in of anybody, and the sockets that it has open.',
      repeat: 'A repeat is 404 `route_not_found`.',
      surprises: 'An unknown id is 404 `route_not_found`: the error table has no other code for it.',
    },
    'POST /console/api/sign-in-links': {
      does: `Makes a link for a colleague: it signs a person of this name and role in once, within ${minutes} minutes. Its token is in the fragment, which browsers send to nobody.`,
      surprises:
        'Without `role` the person is an owner. Without `workspace_id` the role is for all workspaces; an owner of one workspace makes links for that one alone. An unknown workspace is 404 `route_not_found`. The link is void once its maker could not make it any more.',
      repeat: 'A repeat makes a second link, for another person of the same name.',
      body: { name: personName, role: 'attendant', workspace_id: ids.workspace },
      answer: {
        object: 'sign_in_link',
        url: `https://parley.example.com/console#sign-in=${signInToken}`,
        name: personName,
        role: 'attendant',
        workspace_id: ids.workspace,
        expires_at: signedInAt + limits.signInLinkSeconds,
      },
    },
  },
};
