/** The shapes of signing in to the console (contract 9). */
import { Type, type Static } from 'typebox';
import { limits } from '../base/limits.ts';
import { isOneLine } from '../base/text.ts';
import { Id, indexQuery, listOf, named, Nullable, Text, UnixSeconds } from './basics.ts';
import { PersonId, RoleName, RoleWorkspace, WantedWorkspace } from './people.ts';

export const SignInBody = named(
  'SignInRequest',
  Type.Object({
    token: Text(limits.signInTokenCharactersMax, 1, 'The operator token, or the token of a sign-in link.'),
  }),
);
export type SignInBody = Static<typeof SignInBody>;

export const SignInOptionsView = named(
  'SignInOptions',
  Type.Object({
    object: Type.Literal('sign_in_options'),
    oidc: Nullable(
      Type.Object({ name: Type.String({ description: 'The issuer, for the button of the sign-in page.' }) }),
    ),
  }),
);
export type SignInOptionsView = Static<typeof SignInOptionsView>;

export const SignOutBody = named(
  'SignOut',
  Type.Object({
    everywhere: Type.Optional(Type.Boolean({ description: "Ends all of the person's sign-ins, not this one alone." })),
  }),
);
export type SignOutBody = Static<typeof SignOutBody>;

export const PersonView = named(
  'Person',
  Type.Object({
    object: Type.Literal('person'),
    id: PersonId,
    name: Type.String(),
    role: RoleName,
    workspace_id: RoleWorkspace,
    signed_in_at: Nullable(UnixSeconds()),
    expires_at: Nullable(UnixSeconds()),
  }),
);

export const SignInView = named(
  'SignIn',
  Type.Object({
    object: Type.Literal('sign_in'),
    id: Id('sin'),
    name: Type.String({ description: "The person's." }),
    signed_in_at: UnixSeconds(),
    last_seen_at: UnixSeconds(),
    expires_at: UnixSeconds(),
    address: Type.String({ description: 'The network address that it began from.' }),
    agent: Nullable(Type.String({ description: 'The browser, as it names itself.' })),
    current: Type.Boolean({ description: 'Whether this request was sent with it.' }),
  }),
);
export const SignInList = listOf('SignInList', SignInView);
export const SignInsQuery = Type.Object(indexQuery());

export const CreateSignInLinkBody = named(
  'CreateSignInLink',
  Type.Object({
    name: Type.Refine(Text(limits.personNameCharactersMax, 1, 'The person that it is for, in one line.'), isOneLine),
    role: Type.Optional({ ...RoleName, default: 'owner' }),
    workspace_id: Type.Optional(WantedWorkspace),
  }),
);
export type CreateSignInLinkBody = Static<typeof CreateSignInLinkBody>;

export const SignInLinkView = named(
  'SignInLink',
  Type.Object({
    object: Type.Literal('sign_in_link'),
    url: Type.String(),
    name: Type.String(),
    role: RoleName,
    workspace_id: RoleWorkspace,
    expires_at: UnixSeconds(),
  }),
);
export type SignInLinkView = Static<typeof SignInLinkView>;
