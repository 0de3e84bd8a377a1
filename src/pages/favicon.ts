/** The icon of all pages: browsers request it without a link as well. */
import { readFileSync } from 'node:fs';

// The build puts the file next to the bundle, so that the relative path is the same in both places.
export const readFavicon = (): Buffer => readFileSync(new URL('./favicon.ico', import.meta.url));
