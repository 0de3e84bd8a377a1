/**
 * The site's storage, for a widget with `data-remember`: browsers may deny storage to the frame. The page in the frame
 * decides what is kept (see `messages.ts`).
 */
import type { Settings } from './parts.ts';

/**
 * A function that stores a text, unless none is given, and returns the stored one; undefined where storage is denied.
 */
export type Memory = (value?: string) => string | undefined;

/** The session in a stored text; a text that is no JSON is its own. */
const sessionOf = (text: string | null): unknown => {
  try {
    return (JSON.parse(text!) as { session: unknown } | null)?.session;
  } catch {
    return text;
  }
};

/**
 * Null where nothing is remembered: without the setting, and for `0`, `false` and `off`. The newest conversation is kept
 * for all tabs. A tab whose conversation differs keeps it in the tab's storage, as the page of the link does.
 */
export const makeMemory = ({ slug, remember = '0' }: Settings): Memory | null => {
  if (/0|f/.test(remember)) return null;
  const name = `parley:${slug}`;
  let own: string | null = null;
  const differs = (other: string | null): boolean => sessionOf(other) !== sessionOf(own);
  // Another tab has begun a conversation or left this one.
  addEventListener('storage', ({ key, newValue }) => {
    if (key === name && own && differs(newValue)) sessionStorage[name] = own;
  });
  return (value) => {
    try {
      const newest = localStorage.getItem(name);
      if (value === undefined) own = sessionStorage.getItem(name) ?? newest;
      else {
        const isOurs = !differs(newest) || (value && differs(value));
        own = value || null;
        delete sessionStorage[name];
        if (value) (isOurs ? localStorage : sessionStorage)[name] = value;
        else if (isOurs) delete localStorage[name];
      }
      return own ?? undefined;
    } catch {
      // Denied or full: a reload begins anew.
    }
  };
};
