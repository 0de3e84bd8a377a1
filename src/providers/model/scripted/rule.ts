/** A row of the rule tables. */
export interface Rule {
  /** Matched against a message with single white space, spelled-out contractions and no closing punctuation. */
  readonly pattern: RegExp;
  /** Used in turn. `{assistant}` is the assistant's name, `{1}` the first capture. */
  readonly replies: readonly string[];
}
