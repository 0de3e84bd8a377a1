/** A row of the rule tables. */
export interface Rule {
  /** Matched against one sentence: white space single, contractions spelled out, no closing punctuation. */
  readonly pattern: RegExp;
  /**
   * Used in turn. `{assistant}` is the assistant's name, `{name}` the user's with a comma before it or nothing,
   * `{1}` the first capture as said back to the user (my → your), `{1!}` the same word for word.
   */
  readonly replies: readonly string[];
}
