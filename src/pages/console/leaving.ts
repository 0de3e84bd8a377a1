/** The end of a person's visit: nothing of it stays for the next one. */
import { batch } from '@preact/signals';
import { forgetAll } from './data.ts';
import { signedOut } from './person.ts';
import { workspaces } from './workspaces.ts';

export function leaveConsole(): void {
  batch(() => {
    forgetAll();
    workspaces.value = null;
    signedOut();
  });
}
