/** What caused a step, when no request did. */
import type { Cause } from '../store.ts';

/** A deadline, a restart, or a step of the process itself. */
export const nobody: Cause = { requestId: null, by: null };
