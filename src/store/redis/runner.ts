import type { Argument, Reply } from './reply.ts';
import type { ScriptName } from './scripts.ts';

/** How a step is run: answered by the primary alone, or once a replica has it too. */
export type Runner = (name: ScriptName, root: string, ...given: Argument[]) => Promise<Reply>;
