/** Headers by which a client says what it accepts (RFC 9110, 12.4.2). */

/**
 * Whether the client accepts HTML by name, as browsers do that open an address; a program that accepts anything does
 * not.
 */
export const namesHtml = (lines: readonly string[]): boolean =>
  weighted(lines).some(([name, weight]) => name === 'text/html' && weight > 0);

/**
 * Returns the names in the lines of such a header, in lower case and in order, each with its weight: 1 where none is
 * given.
 */
export const weighted = (lines: readonly string[]): (readonly [name: string, weight: number])[] =>
  lines
    .flatMap((line) => line.split(','))
    .map((item) => {
      const [name = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
      const weight = parameters.find((one) => one.startsWith('q='));
      return [name, weight === undefined ? 1 : Number(weight.slice(2))];
    });
