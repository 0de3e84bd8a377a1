/**
 * The site's storage, for a widget that is told to remember its conversation there (`data-remember`): browsers may deny
 * the frame its own. The page in the frame says what is kept (see `messages.ts`).
 */
import type { Settings } from './parts.ts';

/**
 * A function that stores a text, unless none is given, and returns the stored one; undefined where storage is denied.
 */
export type Memory = (value?: string) => string | undefined;

/** Null where nothing is remembered: without the setting, and for `0`, `false` and `off`. */
export const makeMemory = ({ slug, remember = '0' }: Settings): Memory | null =>
  /0|f/.test(remember)
    ? null
    : (value) => {
        try {
          const name = `parley:${slug}`;
          if (value) localStorage[name] = value;
          else if (value === '') delete localStorage[name];
          return localStorage[name] as string | undefined;
        } catch {
          // Denied or full: a reload begins anew.
        }
      };
