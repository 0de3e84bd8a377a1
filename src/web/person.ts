/** Who is signed in, and what happens when that ends. */
import { signal } from '@preact/signals';
import type { Person } from './types.ts';

/** Undefined until the server has said who it is; null when nobody is. */
export const person = signal<Person | null | undefined>(undefined);

/** A request was answered as if nobody were signed in: the page of that name is shown, and afterwards the place where one was. */
export function signedOut(): void {
  person.value = null;
}
