/**
 * Slug, alias and origins of an assistant: their forms, and the sentences about them in command and console. The API's
 * own message names the field and no reason.
 */

/** The slug of a public link (contract 9). */
export const slugPattern = /^[a-z0-9-]{1,64}$/;
export const slugForm = '1 to 64 characters: a to z, 0 to 9 and -';
export const slugTaken = 'Another assistant of the installation has this slug: choose another one.';

/** The alias of an assistant (contract 14). */
export const aliasPattern = /^[a-z0-9._-]{1,60}$/;
export const aliasForm = '1 to 60 characters: a to z, 0 to 9, full stop, _ and -';
export const aliasTaken = 'Another assistant of the workspace has this alias: choose another one.';

/** Aliases that differ in these characters alone are the same: a tool's name has no full stops (contract 15). */
export const aliasKey = (alias: string): string => alias.replaceAll('.', '_');

/** The pattern as an attribute of HTML, whose flag `v` wants a hyphen escaped. */
export const htmlPattern = (pattern: RegExp): string => pattern.source.replace('-]', '\\-]');

export const originCharactersMax = 300;
export const originRule =
  'An origin is https://HOST[:PORT], https://*.HOST, http://localhost[:PORT] or *, without a path.';

const host = String.raw`(?:[A-Za-z0-9_-]+\.)*[A-Za-z0-9_-]+`;
const port = String.raw`(?::\d{1,5})?`;
const originPattern = new RegExp(
  String.raw`^(?:\*|http://localhost${port}|https://(?:${host}\.?|\[[0-9A-Fa-f:.]+\])${port}|https://\*\.${host})$`,
);

/** Whether a text has one of the forms of an origin. */
export function isOrigin(text: string): boolean {
  if (text.length > originCharactersMax || !originPattern.test(text)) return false;
  // A host that no browser could open is no origin: a port beyond 65535, an address of five bytes.
  return text === '*' || URL.canParse(text.replace('//*.', '//'));
}
