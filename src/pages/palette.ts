/** The colours of all pages, for those whose style stands within them. */
import { readFileSync } from 'node:fs';

// The build puts the file beside the bundle, so that the relative path is the same in both places.
export const palette: string = readFileSync(new URL('./palette.css', import.meta.url), 'utf8');
