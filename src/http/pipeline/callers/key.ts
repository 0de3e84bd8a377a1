/** An API key: recognised by its digest, charged against its budgets (contract 4 and 5). */
import { Failure, refused, type Refusal } from '../../../base/errors.ts';
import type { RequestHead } from '../../../base/edge.ts';
import { realtimePath, routedPath } from '../../paths.ts';
import type { KeyActor, Keys } from '../../../host/keys.ts';
import { thenSync } from '../../../base/then-sync.ts';
import type { KeyCaller } from '../../request.ts';
import type { Taken } from '../../../store/store.ts';
import type { Course } from '../reply.ts';
import type { CallerKind } from './kind.ts';
import { bearer } from './bearer.ts';

export const byKey: CallerKind<KeyCaller> = {
  recognise(head, _params, { host }, course) {
    const text = presentedKey(head);
    // A key that the store cannot look up now may be known to this process: then the 503 answers a key, and has rate
    // headers (contract 5).
    return thenSync(host.keys.authenticate(text, course.requestId), callerOf, (reason) => {
      const actor = reason instanceof Failure ? null : host.keys.held(text);
      if (actor !== null) tellStanding(actor, course, host.keys);
      throw reason;
    });
  },

  /** The rate headers describe the last budget charged: the one that refused, or else the endpoint's own. */
  charge({ actor }, route, course, { host }): Refusal | null | Promise<Refusal | null> {
    const charged = (budgets: readonly Taken[]): Refusal | null => {
      const taken = budgets.at(-1)!;
      course.rate = { ceiling: actor.record.limits[taken.budget], taken };
      return taken.passed
        ? null
        : refused('rate_limited', { seconds: Math.max(taken.retryAfterSeconds, taken.restSeconds) });
    };
    // The key is authenticated, so the failure has rate headers as well (contract 5).
    const failed = (reason: unknown): never => {
      tellStanding(actor, course, host.keys);
      throw reason;
    };
    try {
      return thenSync(host.keys.take(actor, route.budgets, course.requestId), charged, failed);
    } catch (reason) {
      return failed(reason);
    }
  },
};

/** Puts the level of the endpoint's own budget, as this process knows it, into the answer's headers. */
function tellStanding(actor: KeyActor, course: Course, keys: Keys): void {
  const budget = course.route!.budgets.at(-1)!;
  const taken = { budget, passed: true, retryAfterSeconds: 0, restSeconds: 0, ...keys.standing(actor, budget) };
  course.rate = { ceiling: actor.record.limits[budget], taken };
}

function callerOf(actor: KeyActor): KeyCaller {
  const { id, name, workspaceId, assistantIds } = actor.record;
  return { kind: 'key', actor, principal: { workspaceId, id, kind: 'key', name, channel: 'api', assistantIds } };
}

/** The subprotocol in which a browser's Realtime client presents its key (contract 18). */
const keyProtocol = 'openai-insecure-api-key.';

const ofProtocols = (head: RequestHead): string[] =>
  head
    .headers('sec-websocket-protocol')
    .flatMap((line) => line.split(',').map((name) => name.trim()))
    .filter((name) => name.startsWith(keyProtocol))
    .map((name) => name.slice(keyProtocol.length));

/** The key in the headers; if several have one, they must be equal. */
function presentedKey(head: RequestHead): string {
  const fromBearer = bearer(head);
  const plain = head.headers('x-api-key');
  if (plain.length > 1 || plain[0] === '') throw new Failure('unreadable_header', { field: 'X-Api-Key' });
  const others = routedPath(head.path) === realtimePath ? ofProtocols(head) : none;
  const key = fromBearer ?? plain[0] ?? others[0];
  if (key === undefined) throw new Failure('missing_api_key');
  if ((plain[0] ?? key) !== key || others.some((other) => other !== key)) throw new Failure('different_keys');
  return key;
}

const none: readonly string[] = [];
