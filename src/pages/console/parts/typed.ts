/** Fields that filter a list: what is typed goes into the page's address. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { after } from '../clock.ts';
import { setQuery } from '../route.ts';

/** The text of a field that stands for a value of the address. */
export interface FieldText {
  readonly textOf: (value: string | null) => string;
  /** Null: no value. Undefined: the text stands for none yet. */
  readonly valueOf: (text: string) => string | null | undefined;
}

export const plainText: FieldText = { textOf: (value) => value ?? '', valueOf: (text) => text || null };

/** A field whose text is the person's while they type, and goes into the address once they pause. */
export function useTyped(name: string, value: string | null, { textOf, valueOf }: FieldText) {
  const [text, setText] = useState(textOf(value));
  /** The value that the text stands for. */
  const held = useRef(value);
  if (held.current !== value) {
    held.current = value;
    setText(textOf(value));
  }
  useEffect(() => {
    const typed = valueOf(text);
    if (typed === undefined || typed === held.current) return;
    return after(300, () => {
      held.current = typed;
      setQuery({ [name]: typed });
    });
  }, [text]);
  return { value: text, onValue: setText };
}
