/**
 * The widget's elements in the site's page: one element with a shadow root, and in it a launcher and the panel of the
 * frame.
 */

/** The text of `style.css`, which the build puts in. */
declare const style: string;

const bubble = 'M3 4h18v13H11l-5 4v-4H3z';
const cross = 'M5 5l14 14M19 5L5 19';

/** A site may have put properties on `Object.prototype`, which options made of `{}` would have too. */
export const bare = <Options extends object>(given: Options): Options => ({ __proto__: null, ...given });

/** The script tag's settings: the values of its `data-` attributes. */
export interface Settings {
  slug?: string;
  /** The launcher shows it; without one it is an icon. */
  readonly label?: string;
  /** `left` or `right`. */
  readonly position?: string;
  theme?: string;
  accent?: string;
  readonly locale?: string;
  /** A selector of the site's own buttons. */
  readonly launcher?: string;
  /** A selector of the element that the conversation stands in. */
  readonly inline?: string;
  /** Present, and neither `0` nor `false`: the site's storage keeps the conversation. */
  readonly remember?: string;
  /** The JWT in which the site says who the visitor is. */
  identity?: string;
}

/** Listens until the widget is destroyed. */
export type On = (target: EventTarget, name: string, handler: (event: Event) => void) => void;

function make<Tag extends keyof HTMLElementTagNameMap>(tag: Tag, ...children: Node[]): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  element.append(...children);
  return element;
}

/** Drawn by elements: a policy of the site that allows no image allows these. */
function icon(line: string): SVGElement {
  const [drawing, path] = ['svg', 'path'].map((tag) => document.createElementNS('http://www.w3.org/2000/svg', tag)) as [
    SVGElement,
    SVGElement,
  ];
  drawing.setAttribute('viewBox', '0 0 24 24');
  drawing.ariaHidden = 'true';
  path.setAttribute('d', line);
  drawing.append(path);
  return drawing;
}

export type Parts = ReturnType<typeof makeParts>;

export function makeParts({ inline }: Settings) {
  const [label, badge] = [make('span'), make('b')];
  const launcher = make('button', icon(bubble), icon(cross), label, badge);
  launcher.ariaHasPopup = 'dialog';
  badge.hidden = true;
  const panel = make((inline ? 'section' : 'dialog') as 'dialog');
  panel.tabIndex = -1;
  const all = make('div', launcher, panel);
  const host = make('div');
  host.className = all.className = inline ? 'inline' : '';
  const root = host.attachShadow(bare({ mode: 'open' as const }));
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(style);
  root.adoptedStyleSheets = [sheet];
  root.append(all);
  return { host, root, all, launcher, label, badge, panel };
}
