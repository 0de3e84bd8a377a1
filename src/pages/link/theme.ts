/** The site's scheme of colours on the page. */
import type { Scheme } from '../messages.ts';

const root = document.documentElement;

export function setScheme(scheme: string | null): void {
  const known: readonly (string | null)[] = ['light', 'dark'] satisfies Scheme[];
  root.style.colorScheme = known.includes(scheme) ? scheme! : '';
}
