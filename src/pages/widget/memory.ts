/**
 * The site's storage, for a widget with `data-remember`: browsers may deny storage to the frame. The page in the frame
 * decides what is kept (see `messages.ts`).
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
