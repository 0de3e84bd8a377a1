/** The shapes of erasing a person (contract 22). */
import { Type, type Static } from 'typebox';
import { named, UnixSeconds } from './basics.ts';

const count = (description: string) => Type.Integer({ minimum: 0, description });

export const ErasureView = named(
  'Erasure',
  Type.Object({
    object: Type.Literal('erasure'),
    at: UnixSeconds(),
    sessions: count('How many sessions it removed.'),
    messages: count('How many messages of these sessions.'),
    turns: count('How many turns of these sessions.'),
    feedback: count('How many ratings of these turns.'),
    tests: count('How many tests that were made from these sessions.'),
  }),
);
export type ErasureView = Static<typeof ErasureView>;
