/** The claims that an issuer of OpenID Connect makes about a person. */
export type Claims = Readonly<Record<string, unknown>>;

/**
 * Returns the value of a claim in the first of the sources that has it; undefined without it. A name with dots that no
 * claim has as a whole is a path into objects.
 */
export function claimOf(sources: readonly Claims[], name: string): unknown {
  for (const source of sources) {
    const value = own(source, name) ?? name.split('.').reduce<unknown>(own, source);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** A member of an object; undefined for an inherited one, and for null. */
const own = (object: unknown, name: string): unknown =>
  typeof object === 'object' && object !== null && Object.hasOwn(object, name)
    ? ((object as Claims)[name] ?? undefined)
    : undefined;
