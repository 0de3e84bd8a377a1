/** Signing in and out, and where people are signed in (contract 9). */
import { clientAddress } from '../../access/client-address.ts';
import { secondsOf } from '../../base/clock.ts';
import { cookieOf, cookieText } from '../../access/cookies.ts';
import type { SocketListener } from '../../base/edge.ts';
import { Failure } from '../../base/errors.ts';
import { listOfAll, type PageFields } from '../handlers/lists.ts';
import { sameSecret } from '../../access/keys.ts';
import { limits } from '../../base/limits.ts';
import { consoleOrigin, isFromElsewhere, maySignIn, mayUseCookie } from '../../access/own-origins.ts';
import type { NobodyCaller, OperatorCaller, Reply, Request } from '../request.ts';
import type { Services } from '../../conversation/services.ts';
import { grantOf, signInEnd } from '../../access/sign-ins.ts';
import type { SignIn, SignInLink } from '../../store/store.ts';
import type { CreateSignInLinkBody, SignInBody, SignOutBody } from '../../wire/wire.ts';
import { changesOf } from '../../store/parts/audit.ts';
import { reaches, type Grant } from '../../base/roles.ts';
import { installation } from '../../store/records.ts';
import { actorOf, auditEntry, signingEntry } from './audit.ts';
import { noContent, nowhere, type ConsoleRequest } from './common.ts';
import { checkGrantable } from './people.ts';

/** A token's own page, in whose fragment no server, proxy or `Referer` sees it. */
export const signInUrl = (origin: string, token: string): string => `${origin}/console#sign-in=${token}`;

export async function signIn(request: Request<NobodyCaller, unknown, SignInBody>): Promise<Reply> {
  const { head, body, services } = request;
  const { config, signIns, failedSignIns, clock } = services;
  if (!maySignIn(head, config)) throw new Failure('insecure_sign_in');
  const address = clientAddress(head, config.trustedProxies);
  // Another site's page would sign its own person in here, unnoticed by the user.
  const link = isFromElsewhere(head, config) ? undefined : await findSignInLink(body.token, services);
  if (link === undefined) {
    const seconds = failedSignIns.take(address);
    throw seconds === null
      ? new Failure('invalid_token')
      : new Failure('rate_limited', { seconds, limiter: 'authentication' });
  }
  await endReplaced(request);
  const begun = await signIns.begin(
    link,
    {
      address,
      agent: head.headers('user-agent')[0]?.slice(0, limits.agentCharactersMax) ?? null,
    },
    (signIn, grant) => signingEntry('sign_in', signIn, grant, request),
  );
  const cookie = cookieText(signIns.cookieName, begun.cookie, signInEnd(begun.signIn) - secondsOf(clock.now()));
  return { ...noContent, headers: { 'set-cookie': cookie, 'cache-control': 'no-store' } };
}

/** A browser forgets the sign-in that it had before, so nobody could end it any more but in the list. */
async function endReplaced(request: Request<NobodyCaller>): Promise<void> {
  const { head, services } = request;
  const { config, signIns } = services;
  const cookie = cookieOf(head, signIns.cookieName);
  const shown = cookie !== null && mayUseCookie(head, 'changes', config) ? await signIns.use(cookie) : null;
  if (shown !== null)
    await signIns.end(shown.signIn.id, (signIn, grant) => signingEntry('sign_out', signIn, grant, request));
}

/** Null for the operator token, the link for a link's, undefined for any other. */
async function findSignInLink(
  token: string,
  { operatorToken, signIns }: Services,
): Promise<SignInLink | null | undefined> {
  if (sameSecret(token, operatorToken)) return null;
  return (await signIns.links.take(token)) ?? undefined;
}

export async function signOut(request: ConsoleRequest<unknown, SignOutBody>): Promise<Reply> {
  const { caller, body, services } = request;
  const { signIns } = services;
  const audit = (signIn: SignIn, grant: Grant) => signingEntry('sign_out', signIn, grant, request);
  if (body.everywhere === true) await signIns.endAll(caller.by.id, audit);
  if (caller.signIn === null) return noContent;
  await signIns.end(caller.signIn.id, audit);
  // With the very attributes that it was set with: a browser would keep one that was set with others.
  return { ...noContent, headers: { 'set-cookie': cookieText(signIns.cookieName, '', 0) } };
}

export function getMe({ caller: { by, grant, signIn } }: ConsoleRequest): Reply {
  return {
    status: 200,
    json: {
      object: 'person',
      id: by.id,
      name: by.name,
      role: grant.role,
      workspace_id: grant.workspaceId,
      signed_in_at: signIn && signIn.signedInAt,
      expires_at: signIn && signInEnd(signIn),
    },
  };
}

export async function listSignIns({ caller, query, services }: ConsoleRequest<PageFields>): Promise<Reply> {
  const shown = await services.signIns.listWithPeople();
  const reached = shown.filter(({ person }) => reaches(caller.grant, grantOf(person).workspaceId));
  return listOfAll(reached, query, 'desc', ({ signIn: one, person }) => ({
    object: 'sign_in',
    id: one.id,
    name: (person ?? one.person).name,
    signed_in_at: one.signedInAt,
    last_seen_at: one.lastSeenAt,
    expires_at: signInEnd(one),
    address: one.address,
    agent: one.agent,
    current: one.id === caller.signIn?.id,
  }));
}

export async function deleteSignIn(request: ConsoleRequest): Promise<Reply> {
  const { caller, params, services } = request;
  const known = (await services.signIns.listWithPeople()).find(({ signIn }) => signIn.id === params.id);
  if (known === undefined || !reaches(caller.grant, grantOf(known.person).workspaceId)) throw nowhere();
  const audit = ({ id, person }: SignIn, { workspaceId }: Grant) =>
    auditEntry(actorOf(request), installation, {
      action: 'delete',
      objectType: 'sign_in',
      objectId: id,
      inWorkspaceId: workspaceId,
      changes: changesOf({ person_id: person.id, name: person.name }, null),
    });
  if (!(await services.signIns.end(params.id, audit))) throw nowhere();
  return noContent;
}

/** A link for a role in all workspaces, or in one; one of an owner of one workspace is for that workspace. */
export async function createSignInLink(request: ConsoleRequest<unknown, CreateSignInLinkBody>): Promise<Reply> {
  const { head, caller, body, services } = request;
  const { config, signIns } = services;
  const { role = 'owner', workspace_id: workspaceId = caller.grant.workspaceId } = body;
  await checkGrantable(caller.grant, workspaceId, services);
  const { token, expiresAt } = await signIns.links.make(body.name, { role, workspaceId }, caller.by.id, (id) =>
    auditEntry(actorOf(request), installation, {
      action: 'create',
      objectType: 'sign_in_link',
      objectId: id,
      inWorkspaceId: workspaceId,
      changes: changesOf(null, { name: body.name, role, only_workspace_id: workspaceId }),
    }),
  );
  return {
    status: 201,
    headers: { 'cache-control': 'no-store' },
    json: {
      object: 'sign_in_link',
      url: signInUrl(consoleOrigin(head, config), token),
      name: body.name,
      role,
      workspace_id: workspaceId,
      expires_at: expiresAt,
    },
  };
}

/** A socket that ends with the sign-in that opened it, or with its person's grant; a socket of the operator token has no such end. */
export function whileSignedIn(
  { signIn, grant }: OperatorCaller,
  { signIns }: Services,
  listener: SocketListener,
): SocketListener {
  if (signIn === null) return listener;
  let stop = (): void => {};
  return {
    opened(socket) {
      listener.opened(socket);
      stop = signIns.open.whenOver(signIn.id, grant, () => socket.close(1008));
    },
    message: (data) => listener.message(data),
    tooLarge: () => listener.tooLarge?.() ?? false,
    tooFast: () => listener.tooFast?.() ?? false,
    drained: () => listener.drained?.(),
    closed(code) {
      stop();
      listener.closed(code);
    },
  };
}
