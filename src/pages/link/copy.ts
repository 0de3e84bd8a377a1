/** The button that copies a reply, as it was written. */
import { iconButton } from '../dom.ts';
import type { Words } from '../words.ts';
import { after } from './clock.ts';

const sheets = 'M5.5 5.5h8v8h-8zM2.5 10.5h-1.7v-8h8v1.7';
const tick = 'M2.5 8.5l3.5 3.5 7.5-8';

/** Milliseconds for which the button says that it has copied. */
const doneMs = 2000;

export function copyButton(
  { copy, copied }: Words,
  said: HTMLElement,
  text: () => string,
  announcer: { say(text: string): void },
): HTMLButtonElement {
  const show = (label: string, picture: string): void => {
    made.title = made.ariaLabel = label;
    made.querySelector('path')!.setAttribute('d', picture);
  };
  const press = async (): Promise<void> => {
    if (!(await copies(text(), said))) return;
    announcer.say(copied);
    show(copied, tick);
    after(doneMs, () => show(copy, sheets));
  };
  const made = iconButton(copy, sheets, () => void press(), 'action');
  return made;
}

/**
 * Returns whether the text is copied. Where the browser does not let the page write it, as over plain HTTP, the reply
 * is selected and copied as it is shown.
 */
async function copies(text: string, said: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection()!.selectAllChildren(said);
    return document.execCommand('copy');
  }
}
