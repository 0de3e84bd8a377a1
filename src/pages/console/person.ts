/** The signed-in person, and what happens when the sign-in ends. */
import { computed, effect, signal } from '@preact/signals';
import type { Person } from './types.ts';

/** Undefined until the server has said who it is; null when nobody is. */
export const person = signal<Person | null | undefined>(undefined);

/**
 * The person whose sign-in has ended elsewhere, in another tab or by time: the page with what was typed waits for them.
 */
const waitedFor = signal<Person | null>(null);

/** The person that the page is drawn for, also while it waits for them. */
export const drawnFor = computed(() => person.value ?? waitedFor.value);

export const isLocked = computed(() => person.value === null && waitedFor.value !== null);

/** Differs for each person that the page was drawn for. */
export const visit = signal(0);

/** Handles a 401: the sign-in page is shown, and afterwards the page that was open. */
export function forgetPerson(): void {
  waitedFor.value = person.peek() ?? waitedFor.peek();
  person.value = null;
}

/**
 * Whether the page waits for somebody else, whose forms and lists this person may not see. The operator may see all.
 */
export const isOther = ({ id, name }: Person): boolean =>
  waitedFor.peek() !== null && waitedFor.peek()!.name !== name && id !== 'operator';

/** The person leaves: the page with what was typed is gone. */
export function signedOut(): void {
  waitedFor.value = null;
  person.value = null;
  visit.value++;
}

/** Resolves once somebody is signed in; rejects when the signal aborts. */
export const whenSignedIn = (leaving: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const aborted = () => reject(leaving.reason);
    leaving.addEventListener('abort', aborted, { once: true });
    const stop = effect(() => {
      if (!person.value) return;
      leaving.removeEventListener('abort', aborted);
      resolve();
      queueMicrotask(() => stop());
    });
  });
