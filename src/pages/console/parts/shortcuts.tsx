/** The keyboard shortcuts of the desk: what each does, the list of them, and the switch that turns them off. */
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { storedSwitch } from './stored-switch.ts';

const shortcuts = [
  ['n', 'Next: open the conversation that waits longest'],
  ['t', 'Take: the conversation that is open, or on the desk the one that waits longest'],
  ['r', 'Reply: write to the visitor'],
  ['b', 'Give it back to the assistant'],
  ['Esc', 'Leave the reply field'],
] as const;

export type ShortcutKey = Exclude<(typeof shortcuts)[number][0], 'Esc'>;

const stored = storedSwitch('parley:desk:keys');
/** Single letters get in the way of speech input, so they can be turned off. */
const isOn = signal(stored.isOn());

/** Whether letters are typed there, or a dialog is open. */
const takesLetters = (target: EventTarget | null): boolean =>
  document.querySelector('dialog[open]') !== null ||
  (target instanceof Element && target.closest('input, textarea, select, [contenteditable]') !== null);

/** Calls what the page does at a letter; a key without an action does nothing. */
export function useShortcuts(actions: Readonly<Partial<Record<ShortcutKey, (() => void) | undefined>>>): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.repeat || event.isComposing) return;
      if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
      if (!isOn.peek() || takesLetters(event.target)) return;
      const action = latest.current[event.key as ShortcutKey];
      if (action === undefined) return;
      // The letter is not typed into a field that the action focuses.
      event.preventDefault();
      action();
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, []);
}

/** The key of a button, where shortcuts are on. */
export const Key = ({ of }: { of: ShortcutKey }) =>
  isOn.value ? (
    <kbd class="wide" aria-hidden="true">
      {of.toUpperCase()}
    </kbd>
  ) : null;

export function Shortcuts() {
  const turn = () => {
    stored.turn(!isOn.value);
    isOn.value = !isOn.value;
  };
  return (
    <details class="shortcuts">
      <summary>Keyboard shortcuts</summary>
      <dl>
        {shortcuts.map(([key, words]) => (
          <div key={key}>
            <dt>
              <kbd>{key.length === 1 ? key.toUpperCase() : key}</kbd>
            </dt>
            <dd>{words}</dd>
          </div>
        ))}
      </dl>
      <p class="acts">
        <button type="button" aria-pressed={isOn.value} onClick={turn}>
          {isOn.value ? 'Shortcuts on' : 'Shortcuts off'}
        </button>
      </p>
    </details>
  );
}
