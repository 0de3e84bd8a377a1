import { codeOfThrown } from '../../../base/thrown.ts';
import { closeSync, openSync, readFileSync } from 'node:fs';

/**
 * Number of connections below which no check for a free descriptor is needed: half of what the process may open. Node
 * raises its own limit when it starts, so the value is read here. 0 if the system does not report it.
 */
export function descriptorsHalf(): number {
  try {
    const limit = /^Max open files +(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return limit === 'unlimited' ? Infinity : Number(limit ?? 0) / 2;
  } catch {
    return 0;
  }
}

/** Whether the process can open one more descriptor. */
export function descriptorFree(): boolean {
  try {
    closeSync(openSync('/dev/null', 'r'));
    return true;
  } catch (error) {
    const code = codeOfThrown(error);
    return code !== 'EMFILE' && code !== 'ENFILE';
  }
}
