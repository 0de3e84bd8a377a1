/** The role of a person who signs in by OpenID Connect, by the rules of `PARLEY_OIDC_ROLES` (contract 22). */
import { claimOf, type Claims } from '../base/claims.ts';
import type { RoleRule } from '../base/config/oidc.ts';
import { roles, type Grant } from '../base/roles.ts';

/**
 * Returns the strongest role that the rules give; of equal roles the one for all workspaces, then the one of the first
 * rule. Null if no rule matches. `sources` are the ID token's claims and perhaps userinfo's: the first that has a claim
 * counts. A rule gives nothing if no workspace, or more than one, has the name that it names.
 */
export function grantOf(
  rules: readonly RoleRule[],
  sources: readonly Claims[],
  workspaces: readonly { readonly id: string; readonly name: string }[],
): Grant | null {
  const grants = rules
    .filter(({ claim, value }) => textsOf(claimOf(sources, claim)).includes(value))
    .flatMap(({ role, workspace }): Grant[] => {
      if (workspace === null) return [{ role, workspaceId: null }];
      const named = workspaces.filter(({ name }) => name === workspace);
      const id = workspaces.some((one) => one.id === workspace) ? workspace : named.length === 1 ? named[0]!.id : null;
      return id === null ? [] : [{ role, workspaceId: id }];
    });
  const strength = ({ role, workspaceId }: Grant): number => roles.indexOf(role) * 2 + (workspaceId === null ? 0 : 1);
  return grants.sort((one, other) => strength(one) - strength(other))[0] ?? null;
}

/** The texts of a claim that is a text, a number or a boolean, or a list of these. */
const textsOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value])
    .filter((each) => ['string', 'number', 'boolean'].includes(typeof each))
    .map(String);
