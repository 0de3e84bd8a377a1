/** The cause of a step without a request. */
import type { Cause } from '../store/store.ts';

/** A deadline, a restart, or a step of the process itself. */
export const nobody: Cause = { requestId: null, by: null };
