/** The signed-in person, and what happens when the sign-in ends. */
import { signal } from '@preact/signals';
import type { Person } from './types.ts';

/** Undefined until the server has said who it is; null when nobody is. */
export const person = signal<Person | null | undefined>(undefined);

/** Handles a 401: the sign-in page is shown, and afterwards the page that was open. */
export function forgetPerson(): void {
  person.value = null;
}
