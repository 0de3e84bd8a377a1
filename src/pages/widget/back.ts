/**
 * The browser's back button closes a conversation that covers the whole screen. An entry of the history with our mark
 * in its state means that the conversation is open there; its address and the site's state are the ones of the entry
 * below.
 */
import { bare, type On } from './parts.ts';

const mark = 'parley';

/** The site's router may have put its own functions on `history`, and would take ours for a navigation. */
const { pushState, back } = History.prototype;

/**
 * `changed` is called when the person has gone from an entry of the one kind to one of the other. After a reload
 * `isMarked` says which it is.
 */
export function makeBackButton(
  on: On,
  name: string,
  changed: (open: boolean) => void,
): readonly [isMarked: () => boolean, enter: () => void, leave: () => void] {
  /** The person is where the conversation is open. */
  let isIn = false;
  /** We have gone back ourselves, and the browser has not said so yet. */
  let isLeaving = false;
  const isMarked = (): boolean => Object(history.state)[mark] === name;
  const enter = (): void => {
    isIn = true;
    if (isLeaving || isMarked()) return;
    try {
      pushState.call(history, bare({ ...history.state, [mark]: name }), '');
    } catch {
      // A sandbox, or more entries than the browser allows in a while: the conversation is open all the same.
    }
  };
  const leave = (): void => {
    isIn = false;
    if (isLeaving || !isMarked()) return;
    isLeaving = true;
    back.call(history);
  };
  on(window, 'popstate', () => {
    if (isLeaving) {
      isLeaving = false;
      // Opened again meanwhile.
      if (isIn) enter();
    } else if (isMarked() !== isIn) changed((isIn = !isIn));
  });
  return [isMarked, enter, leave];
}
