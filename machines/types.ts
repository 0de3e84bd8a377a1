/** The types of a machine, as XState's `setup` reads them. */

/** Has no value: XState reads the types alone. */
export const typesOf = <Context, Event, Outcome, Input = unknown>() =>
  ({}) as { context: Context; events: Event; emitted: Outcome; input: Input };
