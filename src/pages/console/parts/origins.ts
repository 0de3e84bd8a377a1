/** The origins of the widget in the form, a line each. */
import { isOrigin } from '../../../base/link-fields.ts';

/** The lines of a text that are no origins. */
export const badOrigins = (text: string): readonly string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !isOrigin(line));
