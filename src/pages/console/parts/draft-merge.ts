/** Merges the edit of a form with the changes that another person made to the same settings. */

export interface Edit<Draft> {
  /** The settings as they were read. */
  readonly base: Draft;
  /** The settings as the form shows them. */
  readonly draft: Draft;
}

export interface Merge<Draft> extends Edit<Draft> {
  /** Settings that another person changed and this form did not. The draft has them now. */
  readonly taken: readonly (keyof Draft & string)[];
  /** Settings that both changed, to different values. The draft keeps the form's. */
  readonly both: readonly (keyof Draft & string)[];
}

const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

export const isDirty = <Draft>({ base, draft }: Edit<Draft>): boolean => !same(base, draft);

/** Moves an edit onto newer settings. Nothing that was typed is lost. */
export function merged<Draft extends object>({ base, draft }: Edit<Draft>, newer: Draft): Merge<Draft> {
  const names = Object.keys(newer) as (keyof Draft & string)[];
  const changed = names.filter((name) => !same(newer[name], base[name]));
  const mine = names.filter((name) => !same(draft[name], base[name]));
  const after = { ...newer };
  for (const name of mine) after[name] = draft[name];
  return {
    base: newer,
    draft: after,
    taken: changed.filter((name) => !mine.includes(name)),
    both: changed.filter((name) => mine.includes(name) && !same(draft[name], newer[name])),
  };
}

/** The fields of an object that differ from another's, at any depth; a list is one value. */
export function changedFields(after: object, before: object): Record<string, unknown> {
  const changed: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(after)) {
    const old = (before as Record<string, unknown>)[name];
    if (same(value, old)) continue;
    changed[name] = isObject(value) && isObject(old) ? changedFields(value, old) : value;
  }
  return changed;
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
