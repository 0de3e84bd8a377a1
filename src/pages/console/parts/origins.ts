/** Origins as the server takes them for the widget (contract 9), to name the line that it refuses. */
const named = /^https:\/\/(?:(?:[\w-]+\.)*[\w-]+\.?|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;
const below = /^https:\/\/\*\.(?:[\w-]+\.)*[\w-]+$/;
const local = /^http:\/\/localhost(?::\d{1,5})?$/;

/** The longest origin. */
const charactersMax = 300;

function isOrigin(text: string): boolean {
  if (text === '*') return true;
  return (
    text.length <= charactersMax &&
    [named, below, local].some((form) => form.test(text)) &&
    URL.canParse(text.replace('//*.', '//'))
  );
}

/** The lines of a text that are no origins. */
export const badOrigins = (text: string): readonly string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !isOrigin(line));
