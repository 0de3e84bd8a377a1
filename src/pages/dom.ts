/** Elements, as the page makes them: by name, with properties and children, and never out of text. */

type Value = string | number | boolean | null | ((event: never) => void);

/**
 * Names with `on` are listeners; those with a dash and `role` are attributes; `null` leaves one out. All else are
 * properties.
 */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  values: Readonly<Record<string, Value>> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(values)) {
    if (value === null) continue;
    if (typeof value === 'function') made.addEventListener(name.slice(2), value as (event: Event) => void);
    else if (name.includes('-') || name === 'role') made.setAttribute(name, String(value));
    else Object.assign(made, { [name]: value });
  }
  made.append(...children);
  return made;
}

/** A button with words. */
export const button = (label: string, onclick: () => void, className = ''): HTMLButtonElement =>
  element('button', { type: 'button', className, onclick }, label);

/** A button with a picture, whose words are for those who do not see it, and for those who wait. */
export function iconButton(label: string, path: string, onclick: () => void, className = ''): HTMLButtonElement {
  const made = element('button', {
    type: 'button',
    className: `icon ${className}`,
    title: label,
    'aria-label': label,
    onclick,
  });
  const svg = (tag: string, attributes: Record<string, string>): SVGElement => {
    const one = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [name, value] of Object.entries(attributes)) one.setAttribute(name, value);
    return one;
  };
  const picture = svg('svg', { viewBox: '0 0 16 16', 'aria-hidden': 'true' });
  picture.append(svg('path', { d: path }));
  made.append(picture);
  return made;
}

/** Puts values into a sentence: `{time}` and its like. */
export const filled = (sentence: string, values: Readonly<Record<string, string | number>>): string =>
  sentence.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name]));
