/** The key that sends a message, on every page where one is written. */

/** A key that was pressed, as browsers report it. */
interface KeyPress {
  readonly key: string;
  readonly shiftKey: boolean;
  readonly isComposing: boolean;
  readonly keyCode: number;
}

/**
 * Whether a key sends the message: Enter without Shift. The Enter that ends a word of an input method, in a Japanese or
 * Chinese text, belongs to that method; Safari marks it only by its key code.
 */
export const isSending = ({ key, shiftKey, isComposing, keyCode }: KeyPress): boolean =>
  key === 'Enter' && !shiftKey && !isComposing && keyCode !== 229;
