/** Callers of an assistant's public link (contract 9): anybody who knows its slug, and visitors with a token. */
import { clientAddress, noteUnnamedProxy } from '../../../access/client-address.ts';
import type { RequestHead } from '../../../base/edge.ts';
import { Failure, refused, type Refusal } from '../../../base/errors.ts';
import type { AssistantActor } from '../../../host/assistants.ts';
import { lists } from '../../../base/origin.ts';
import {
  isLink,
  type GuestCaller,
  type NewcomerCaller,
  type Request,
  type Route,
  type VisitorCaller,
} from '../../request.ts';
import type { Services } from '../../../conversation/services.ts';
import { holds } from '../../../access/identity.ts';
import { networkOf } from '../../../access/throttle.ts';
import type { VisitorClaims } from '../../../access/visitor-tokens.ts';
import type { Course } from '../reply.ts';
import { bearer } from './bearer.ts';
import type { CallerKind } from './kind.ts';

const unknown = (): Failure => new Failure('assistant_not_found');

const unnamedProxy =
  'X-Forwarded-For came from a peer that PARLEY_TRUSTED_PROXIES does not name: if that is a proxy, visitors behind it share one address and its limit; a visitor can also have made the header up';

/**
 * Charges an address for a read of a public link (contract 9). A refusal costs nothing: visitors may share an address.
 */
export function chargeRead(
  _caller: unknown,
  { method, path }: Route,
  _course: Course,
  { linkReads, config }: Services,
  head: RequestHead,
): Refusal | null {
  if (method !== 'GET' || !isLink(path)) return null;
  const seconds = linkReads.take(clientAddress(head, config.trustedProxies));
  return seconds === null ? null : refused('rate_limited', { seconds, limiter: 'link_reads' });
}

/** A guest needs no token: the slug and one of its channels are enough. */
export const byLink: CallerKind<GuestCaller> = {
  recognise: async (head, params, services, course) => ({
    kind: 'guest',
    assistant: await openAssistant(head, params, services, course),
  }),
  charge: chargeRead,
};

/** A newcomer requests a token. A token sent with the request must be valid: it is renewed for the same visitor. */
export const byLinkAnew: CallerKind<NewcomerCaller> = {
  async recognise(head, params, services, course) {
    const assistant = await openAssistant(head, params, services, course);
    const token = bearer(head);
    return { kind: 'newcomer', assistant, renews: token === null ? null : claimsOf(token, assistant, services) };
  },
  charge: () => null,
};

/** A visitor's token, good for one assistant on one channel. */
export const byVisitorToken: CallerKind<VisitorCaller> = {
  async recognise(head, params, services, course) {
    const assistant = await siteOf(head, params, services, course);
    const token = bearer(head);
    if (token === null) throw new Failure('invalid_token');
    const { id, channel, proof } = claimsOf(token, assistant, services);
    const { workspaceId, id: assistantId, channels } = assistant.record;
    if (!channels[channel]) throw unknown();
    if (noteUnnamedProxy(head, services.config)) services.log.warn(unnamedProxy);
    const addressKey = addressKeyOf(head, services);
    return {
      kind: 'visitor',
      assistant,
      principal: {
        workspaceId,
        id,
        kind: 'visitor',
        name: id,
        channel,
        assistantIds: [assistantId],
        visitor: { addressKey, signedFields: holds(proof, assistant.record) ? proof!.fields : null },
      },
    };
  },
  charge: chargeRead,
};

/** The digests of the address that a visitor's request came from. */
export function addressKeyOf(head: RequestHead, { config, visitorTokens }: Services): (atMs: number) => string {
  const network = networkOf(clientAddress(head, config.trustedProxies));
  return (atMs) => visitorTokens.addressKey(network, atMs);
}

function claimsOf(token: string, { record }: AssistantActor, { visitorTokens, clock }: Services): VisitorClaims {
  const claims = visitorTokens.open(token, record.id);
  if (claims === null || clock.now() >= claims.expiresAt * 1000) throw new Failure('invalid_token');
  return claims;
}

/** The slug's assistant, if one of its channels is on, for the site that asks. */
const openAssistant: typeof siteOf = (head, params, services, course) =>
  siteOf(head, params, services, course, ({ record: { channels } }) => channels.link || channels.widget);

/** The slug's assistant, for the site that asks. */
async function siteOf(
  head: RequestHead,
  params: Request['params'],
  services: Services,
  course: Course,
  isOffered: (found: AssistantActor) => boolean = () => true,
): Promise<AssistantActor> {
  // An unknown slug must look like a channel that is off, headers included.
  course.site = { vary: 'Origin' };
  const found = await services.host.assistants.bySlug(params.slug);
  if (found === null || !isOffered(found)) throw unknown();
  checkOrigin(head, found, course, services);
  return found;
}

/** The headers of an answer that a script of a listed site may read (contract 9). */
const exposed = 'x-request-id, x-turn-id, retry-after, location, idempotent-replayed';

/** Throws 403 for a site that is neither ours nor listed. Every answer to a listed site says that it may read it. */
function checkOrigin(head: RequestHead, { record }: AssistantActor, course: Course, { config }: Services): void {
  const origins = head.headers('origin');
  if (origins.length === 0) return;
  const origin = origins[0]!;
  const listed = origins.length === 1 && lists(record.link?.origins ?? [], origin);
  if (listed)
    course.site = { vary: 'Origin', 'access-control-allow-origin': origin, 'access-control-expose-headers': exposed };
  else if (origins.length > 1 || !isOurs(origin, head, config)) throw new Failure('site_not_permitted');
}

/**
 * Whether the page that asks came from this server: under `PARLEY_PUBLIC_URL`, one of the origins that
 * `PARLEY_CONSOLE_ORIGIN` names, or the request's own host. Only the proxy knows of a TLS connection, so the scheme is
 * left out.
 */
function isOurs(origin: string, head: RequestHead, { consoleOrigins, publicUrl }: Services['config']): boolean {
  const [host] = head.headers('host');
  return (
    origin === publicUrl ||
    consoleOrigins.includes(origin) ||
    (host !== undefined && (origin === `https://${host}` || origin === `http://${host}`))
  );
}
