/** Parts of keys that the embedded stores and Redis build alike: ids, digests and usage accounts. */
import { createHash } from 'node:crypto';
import type { UsageQuery } from './store.ts';

const plain = /^(?:[\w-]{1,64}|~[\w-]{43})$/;

/**
 * Returns an id as a part of a key: for any id that a client sends, it stays within its part and has a bounded length.
 */
export const part = (id: string): string => (plain.test(id) ? id : digest(id));

/** A digest never equals an id of ours, because it begins with a character that no id has. */
const digest = (text: string): string => `~${createHash('sha256').update(text).digest('base64url')}`;

/** The digest of an idempotency record's scope and key. */
export const memoryDigest = (scope: string, key: string): string => digest(`${scope.length}:${scope}${key}`);

/**
 * Returns the account that usage is counted under: an assistant, with the API key if there is one. The accounts of an
 * assistant are its total.
 */
export const account = (assistantId: string, keyId: string | null | undefined): string =>
  keyId ? `${part(assistantId)}${withKey}${part(keyId)}` : part(assistantId);

/** The separator of an account's assistant and key. */
export const withKey = '+';

/** The assistant and the key of an account. */
export const accountParts = (name: string): [assistant: string, key: string | undefined] =>
  name.split(withKey, 2) as [string, string | undefined];

/** Whether a query selects this account. */
export const isAsked = (name: string, { assistantIds, keyId }: UsageQuery): boolean => {
  const [assistant, key] = accountParts(name);
  return (
    (keyId == null || key === part(keyId)) &&
    (assistantIds === null || assistantIds.some((id) => part(id) === assistant))
  );
};

/** Accounts in the order of their rows' keys. */
export const byAccount = (one: string, other: string): number => (`${one}/` < `${other}/` ? -1 : 1);
