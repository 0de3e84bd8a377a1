/** Headers by which a client says what it accepts (RFC 9110, 12.4.2). */

/** What the lines of such a header name, in lower case and in order, each with its weight: 1 where none is given. */
export const weighted = (lines: readonly string[]): (readonly [name: string, weight: number])[] =>
  lines.flatMap((line) => line.split(',')).map((item) => {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
    const weight = parameters.find((one) => one.startsWith('q='));
    return [name, weight === undefined ? 1 : Number(weight.slice(2))];
  });
