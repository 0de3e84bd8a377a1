/** The limits of an API key, and what a turn has reserved of them. */

/** The limits of a key: its budgets, each a ceiling per minute, and the tokens of its turns. */
export interface KeyLimits {
  readonly requests: number;
  readonly speech: number;
  readonly transcriptionTokens: number;
  /** The tokens that the key's turns may use in a UTC day. Null or absent for any number. */
  readonly tokensPerDay?: number | null;
}
export type BudgetName = Exclude<keyof KeyLimits, 'tokensPerDay'>;

/** The tokens that a turn has reserved of its key's budget of a day. */
export interface ReservedTokens {
  readonly keyId: string;
  /** When the day began, in Unix milliseconds. */
  readonly dayMs: number;
  readonly tokens: number;
}
