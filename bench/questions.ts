/** Every question, in the order in which they are asked. */
import type { Question } from './harness/question.ts';
import { relay } from './questions/relay.ts';
import { turn } from './questions/turn.ts';

export const questions: readonly Question[] = [relay, turn];
