/**
 * The user of the console: the bearer of the operator token, or a person who is signed in and shows it by a cookie; not
 * charged (contract 9). A browser sends the cookie with requests of other sites' pages as well, so it counts only on
 * requests from our own pages.
 */
import { secondsOf } from '../../../base/clock.ts';
import { cookieOf, cookieText } from '../../../access/cookies.ts';
import type { RequestHead } from '../../../base/edge.ts';
import { Failure } from '../../../base/errors.ts';
import { sameSecret } from '../../../access/keys.ts';
import { mayUseCookie, type Deed } from '../../../access/own-origins.ts';
import type { OperatorCaller, Route } from '../../request.ts';
import type { Services } from '../../../conversation/services.ts';
import { ownerOfAll } from '../../../base/roles.ts';
import { operatorPerson } from '../../../access/people.ts';
import { grantOf, signInEnd } from '../../../access/sign-ins.ts';
import type { CallerKind } from './kind.ts';
import { bearer } from './bearer.ts';

const bearerCaller: OperatorCaller = {
  kind: 'operator',
  by: { kind: 'operator', ...operatorPerson },
  grant: ownerOfAll,
  signIn: null,
  setCookie: null,
};

export const byOperator: CallerKind<OperatorCaller> = {
  recognise(head, _params, services, { route }) {
    const token = bearer(head);
    if (token === null) return recogniseSignIn(head, route!, services);
    if (!sameSecret(token, services.operatorToken)) throw new Failure('invalid_api_key');
    return bearerCaller;
  },
  charge: () => null,
};

function recogniseSignIn(head: RequestHead, route: Route, services: Services): Promise<OperatorCaller> {
  const cookie = cookieOf(head, services.signIns.cookieName);
  if (cookie === null || !mayUseCookie(head, deedOf(route), services.config)) throw new Failure('missing_api_key');
  return byCookie(cookie, services);
}

const deedOf = ({ method, open }: Route): Deed =>
  open !== undefined ? 'upgrades' : method === 'GET' ? 'reads' : 'changes';

async function byCookie(cookie: string, { signIns, clock }: Services): Promise<OperatorCaller> {
  const shown = await signIns.use(cookie);
  if (shown === null) throw new Failure('missing_api_key');
  const { signIn, person, renew } = shown;
  const setCookie = renew ? cookieText(signIns.cookieName, cookie, signInEnd(signIn) - secondsOf(clock.now())) : null;
  return {
    kind: 'operator',
    by: person === null ? bearerCaller.by : { kind: 'person', id: person.id, name: person.name },
    grant: grantOf(person),
    signIn,
    setCookie,
  };
}
