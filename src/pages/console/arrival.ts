/** The arrival on another page of the console: the focus goes to its heading, and its title is announced. */
import { signal } from '@preact/signals';

/** The title of the page that was arrived at, for screen readers. */
export const announced = signal('');

let isShown = false;
let isArriving = false;

/** The address names another page. Nothing is announced for the first one: the browser reads its title. */
export function leavePage(): void {
  isArriving = isShown;
}

/** The heading of a page is there. A focus that a person has set meanwhile stays. */
export function arriveAt(heading: HTMLElement, title: string): void {
  document.title = title;
  isShown = true;
  if (!isArriving) return;
  isArriving = false;
  announced.value = title;
  const { activeElement: focused } = document;
  if (focused === null || focused === document.body || focused.id === 'main' || focused.closest('nav') !== null)
    heading.focus({ preventScroll: true });
}
