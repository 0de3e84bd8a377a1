/** Says things to a screen reader: a reply once, when it is whole, and not by its tokens. */
import { element } from './dom.ts';
import { after } from './clock.ts';

/** What was said is taken away, so that nobody finds it twice when reading the page. */
const shownMs = 5000;

export class Announcer {
  readonly element = element('div', { className: 'hidden', role: 'log', 'aria-live': 'polite', 'aria-relevant': 'additions' });

  say(text: string): void {
    const said = element('p', { dir: 'auto' }, text);
    this.element.append(said);
    after(shownMs, () => said.remove());
  }
}
