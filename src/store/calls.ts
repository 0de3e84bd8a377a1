/** How far calls of tools have come: by that a store tells a step that arrives late, or twice, from a new one. */
import type { Message, ToolCall } from './store.ts';

/** Whether a call has a result, or will have none. */
export const hasEnded = ({ status }: ToolCall): boolean => status !== 'running' && status !== 'pending';

/** How many of a message's calls have ended. */
export const endedCalls = ({ toolCalls = [] }: Message): number => toolCalls.filter(hasEnded).length;
