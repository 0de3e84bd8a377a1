/** Handlers for visitors of an assistant's public link, beyond those that the API has as well (contract 9). */
import { assistantKind } from '../../../machines/assistant.ts';
import { secondsOf } from '../../base/clock.ts';
import { greetingBefore } from '../../assistant/texts.ts';
import { answeringOf } from '../../conversation/access-checks.ts';
import { idempotencyOf } from '../../conversation/idempotency.ts';
import { takeMessage } from '../../conversation/link.ts';
import { openSession } from '../../conversation/sessions.ts';
import { Failure } from '../../base/errors.ts';
import { migratedSnapshot } from '../../actors/actor.ts';
import { limits } from '../../base/limits.ts';
import { holds, verifyIdentity } from '../../access/identity.ts';
import type { VisitorClaims } from '../../access/visitor-tokens.ts';
import { originCharactersMax } from '../../base/link-fields.ts';
import { lists } from '../../base/origin.ts';
import type { GuestCaller, NewcomerCaller, Reply, Request, VisitorCaller } from '../request.ts';
import { codePoints } from '../../base/text.ts';
import type {
  CreateCallTokenBody,
  CreateLinkSessionBody,
  CreateLinkTranscriptionTokenBody,
  CreateVisitorBody,
  LinkSpeechBody,
} from '../../wire/wire.ts';
import type { Session } from '../../store/store.ts';
import { validatorOf } from '../../wire/check.ts';
import { VisitorValues } from '../../wire/conversation.ts';
import { sessionCreated } from './sessions.ts';
import { speak } from './speech.ts';
import { mintCallToken } from './calls.ts';
import { mintToken } from './transcription.ts';

/** Returns a separate shape, never a record with fields left out: the assistant's configuration is not public. */
export async function aboutLink({ caller: { assistant }, services }: Request<GuestCaller>): Promise<Reply> {
  const answering = await answeringOf(assistant, null, services);
  const { name, description, channels, visitorFields, link, machine } = answering;
  const json = {
    object: 'link',
    slug: link!.slug,
    name,
    description,
    greeting: greetingBefore(answering),
    visitor_fields: visitorFields,
    channels: { link: channels.link, widget: channels.widget },
    status: migratedSnapshot(assistantKind, machine).state === 'published' ? 'open' : 'closed',
    feedback: link!.feedback ?? false,
    desk: answering.desk?.enabled ?? false,
    message_characters_max: limits.messageCharactersMax,
  };
  return { status: 200, json };
}

/** Names a visitor. Nothing is stored: the token contains the visitor's permissions. */
export async function createVisitor(request: Request<NewcomerCaller, unknown, CreateVisitorBody>): Promise<Reply> {
  const { caller, body, services } = request;
  const { id: assistantId, channels, link } = caller.assistant.record;
  const channel = body.channel;
  const host = channel === 'widget' ? hostOf(body) : null;
  if (!channels[channel]) throw new Failure('assistant_not_found');
  if (host !== null && !lists(link?.origins ?? [], host)) throw new Failure('site_not_permitted');
  const { id, proof } = await visitorOf(request);
  // A token differs from the one that it renews by its end alone, so it ends a second later if both are given in one
  // second.
  const renewed = caller.renews?.id === id ? caller.renews.expiresAt : 0;
  const expiresAt = Math.max(secondsOf(services.clock.now() + limits.visitorTokenMs), renewed + 1);
  const token = services.visitorTokens.seal({ id, assistantId, channel, expiresAt, proof });
  return {
    status: 201,
    headers: { 'cache-control': 'no-store' },
    json: { object: 'visitor', id, token, expires_at: expiresAt },
  };
}

const areFields = (value: unknown): value is Session['visitor'] => validatorOf(VisitorValues).Check(value);

/**
 * The visitor of the site's token, else of the token that is renewed, else a new one. The token of a signed
 * visitor is renewed by another signed one, so that the conversations are closed once the site has signed the visitor
 * out.
 */
async function visitorOf({
  caller: { assistant, renews },
  body: { identity },
  services: { ids, vault, clock },
}: Request<NewcomerCaller, unknown, CreateVisitorBody>): Promise<Pick<VisitorClaims, 'id' | 'proof'>> {
  const { record } = assistant;
  if (identity !== undefined) {
    const signed = await verifyIdentity(identity, record, vault, clock.now(), areFields);
    if (signed === null) throw new Failure('invalid_token');
    return { id: signed.id, proof: { identityId: record.link!.identity!.id, fields: signed.fields } };
  }
  if (record.link?.identityRequired || holds(renews?.proof ?? null, record)) throw new Failure('invalid_token');
  return { id: renews?.id ?? ids.make('vis'), proof: null };
}

/** The origin of the page that the widget is on. */
function hostOf({ host }: CreateVisitorBody): string {
  if (host === undefined) throw new Failure('missing_field', { field: 'host' });
  if (typeof host !== 'string' || host === '' || codePoints(host) > originCharactersMax)
    throw new Failure('invalid_field', { field: 'host' });
  return host;
}

export async function createLinkSession(
  request: Request<VisitorCaller, unknown, CreateLinkSessionBody>,
): Promise<Reply> {
  const { caller, body, params, requestId, services } = request;
  const { principal, assistant } = caller;
  const { id, link } = assistant.record;
  const { signedFields } = principal.visitor!;
  if (link?.identityRequired && signedFields === null) throw new Failure('invalid_token');
  const visitor = { ...body.visitor, ...signedFields };
  if (Object.keys(visitor).length > limits.visitorFieldsMax) throw new Failure('invalid_field', { field: 'visitor' });
  const { session, replayed } = await openSession(
    principal,
    { ...body, visitor, assistant_id: id },
    idempotencyOf(request, principal, '/sessions'),
    requestId,
    services,
  );
  return sessionCreated(session, `/p/${encodeURIComponent(params.slug)}`, services.clock.now(), replayed);
}

export function linkSpeech(request: Request<VisitorCaller, unknown, LinkSpeechBody>): Promise<Reply> {
  const { caller, body, requestId, services } = request;
  const { session_id: sessionId, ...wish } = body;
  const { id: assistantId } = caller.assistant.record;
  return speak({ ...request, body: { ...wish, assistant_id: assistantId } }, sessionId, (session) =>
    takeMessage(caller.principal, session!, requestId, services),
  );
}

export function createLinkTranscriptionToken(
  request: Request<VisitorCaller, unknown, CreateLinkTranscriptionTokenBody>,
): Promise<Reply> {
  const { caller, body, requestId, services } = request;
  const { id: assistantId } = caller.assistant.record;
  return mintToken({ ...request, body: { ...body, assistant_id: assistantId } }, (session) =>
    takeMessage(caller.principal, session!, requestId, services),
  );
}

export const createLinkCallToken = (request: Request<VisitorCaller, unknown, CreateCallTokenBody>): Promise<Reply> =>
  mintCallToken(request, (session) =>
    takeMessage(request.caller.principal, session, request.requestId, request.services),
  );

/**
 * `OPTIONS`: the requests that a script of a listed site may send (contract 9). Every answer names the headers that the
 * script may read.
 */
export const preflight = (): Reply => ({
  status: 204,
  headers: {
    'access-control-allow-methods': 'GET, POST, PUT, DELETE',
    'access-control-allow-headers': 'authorization, content-type, idempotency-key, last-event-id',
    'access-control-max-age': '7200',
  },
  empty: true,
});
