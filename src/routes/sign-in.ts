/** Signing in to the console (contract 9). */
import * as signing from '../console/sign-in.ts';
import type { Route } from '../request.ts';
import * as wire from '../wire.ts';
import { json, nothingLeft, open, operator } from './row.ts';

const path = '/console/api';

export const signInRoutes: readonly Route[] = [
  open('POST', `${path}/sign-in`, signing.signIn, {
    summary: 'Signs a person in.',
    body: wire.SignInBody,
    success: { status: 204, description: 'The person is signed in, by the cookie of this answer.', content: null, headers: ['Set-Cookie', 'Cache-Control'] },
    errors: ['invalid_field', 'insecure_sign_in', 'invalid_token', 'rate_limited', 'service_unavailable'],
  }),
  operator('POST', `${path}/sign-out`, signing.signOut, {
    summary: 'Signs the person out.',
    body: wire.SignOutBody,
    bodyOptional: true,
    success: { status: 204, description: 'The sign-in has ended.', content: null },
  }),
  operator('GET', `${path}/me`, signing.getMe, {
    summary: 'Says who is signed in.',
    success: json(wire.PersonView, 'The person.'),
  }),
  operator('GET', `${path}/sign-ins`, signing.listSignIns, {
    summary: 'Lists where people are signed in.',
    query: wire.SignInsQuery,
    success: json(wire.SignInList, 'A page of sign-ins.'),
  }),
  operator('DELETE', `${path}/sign-ins/{id}`, signing.deleteSignIn, {
    summary: 'Ends a sign-in.',
    success: nothingLeft,
    errors: ['route_not_found'],
  }),
  operator('POST', `${path}/sign-in-links`, signing.createSignInLink, {
    summary: 'Makes a link that signs a person in once.',
    body: wire.CreateSignInLinkBody,
    success: json(wire.SignInLinkView, 'The link.', 201, ['Cache-Control']),
  }),
];
