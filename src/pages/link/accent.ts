/** An accent of the site's, adjusted so that text in it and on it can be read. Loaded where there is one. */

const root = document.documentElement;
/** The grounds on which the accent is written, by scheme. */
const grounds = { light: [250, 250, 248], dark: [19, 19, 22] } as const;
const contrastMin = 4.6;

type Colour = readonly [number, number, number];

/** A colour as `#rrggbb`; anything else is the page's own. */
export function setAccent(accent: string | null): void {
  const found = /^#([\da-f]{2})([\da-f]{2})([\da-f]{2})$/i.exec(accent ?? '');
  for (const name of ['--accent', '--on-accent']) root.style.removeProperty(name);
  if (found === null) return;
  const given = found.slice(1).map((digits) => Number.parseInt(digits, 16)) as unknown as Colour;
  const [light, dark] = [legible(given, grounds.light, 0), legible(given, grounds.dark, 255)];
  root.style.setProperty('--accent', `light-dark(${css(light)}, ${css(dark)})`);
  root.style.setProperty('--on-accent', `light-dark(${onTop(light)}, ${onTop(dark)})`);
}

const css = (colour: Colour): string => `rgb(${colour.map(Math.round).join(' ')})`;

function luminance(colour: Colour): number {
  const [r, g, b] = colour.map((value) =>
    value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4,
  ) as unknown as Colour;
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one: Colour, other: Colour): number {
  const [dark, light] = [luminance(one), luminance(other)].toSorted((a, b) => a - b) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

/** Moved towards black or white until it can be read on the ground. */
function legible(colour: Colour, ground: Colour, end: 0 | 255): Colour {
  for (let share = 0; share < 1; share += 0.05) {
    const moved = colour.map((value) => value + (end - value) * share) as unknown as Colour;
    if (contrast(moved, ground) >= contrastMin) return moved;
  }
  return [end, end, end];
}

const onTop = (colour: Colour): string =>
  contrast(colour, [255, 255, 255]) >= contrast(colour, grounds.dark) ? '#fff' : '#131316';
