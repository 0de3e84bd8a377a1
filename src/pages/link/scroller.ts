/** Keeps the newest text in sight, unless the person reads further up: then a button leads back. */
import { button, element } from '../dom.ts';

/** A distance from the end that counts as at the end. */
const nearPx = 40;

export class Scroller {
  readonly element: HTMLElement;
  readonly latest: HTMLButtonElement;
  #sticks = true;
  #top = 0;

  constructor(label: string, latestLabel: string, ...children: readonly Node[]) {
    this.element = element(
      'div',
      { id: 'scroller', role: 'region', 'aria-label': label, tabIndex: 0, onscroll: () => this.#scrolled() },
      ...children,
    );
    this.latest = button(latestLabel, () => this.toEnd(), 'latest');
    this.latest.hidden = true;
    new ResizeObserver(() => this.follow()).observe(this.element);
  }

  follow(): void {
    if (this.#sticks) this.element.scrollTop = this.element.scrollHeight;
    this.latest.hidden = this.#sticks || this.#left() < nearPx;
  }

  toEnd(): void {
    this.#sticks = true;
    this.follow();
  }

  #left(): number {
    const { scrollHeight, scrollTop, clientHeight } = this.element;
    return scrollHeight - scrollTop - clientHeight;
  }

  /** Only a scroll upwards leaves the end: text that comes, and a keyboard that takes room, do not. */
  #scrolled(): void {
    const { scrollTop } = this.element;
    if (this.#left() < nearPx) this.#sticks = true;
    else if (scrollTop < this.#top) this.#sticks = false;
    this.#top = scrollTop;
    this.follow();
  }
}
