/** Fields of a form. A fault that the server names by the field's path is shown at the field. */
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import type { ApiFailure } from '../api.ts';

interface Labelled {
  readonly label: string;
  readonly note?: ComponentChildren;
  /** The field's path in the API, as the server's error names it. */
  readonly path?: string;
  readonly failure?: ApiFailure | null;
  /** A fault that the page finds by itself. */
  readonly fault?: string | null;
}

/** Returns the failure's message if it is about this field. */
export const faultOf = (failure: ApiFailure | null | undefined, path: string | undefined): string | null =>
  failure?.status === 422 && path !== undefined && failure.message.includes(`\`${path}\``) ? failure.message : null;

/** A number has both bounds, or none: the browser names them where the number is beyond. */
type Bounds =
  | { readonly type: 'number'; readonly min: number; readonly max: number }
  | { readonly type: 'number'; readonly min: null; readonly max: null }
  | {
      readonly type?: 'text' | 'password' | 'email' | 'search' | 'url' | 'datetime-local' | 'color';
      readonly min?: string;
      readonly max?: string;
    };

type InputOptions = Bounds & InputText;

interface InputText extends Labelled {
  readonly value: string | number;
  readonly onValue: (value: string) => void;
  readonly required?: boolean;
  readonly step?: number | 'any';
  readonly placeholder?: string;
  readonly pattern?: string;
  /** The format that `pattern` asks for, which the browser shows if the value has another. */
  readonly title?: string;
  readonly autocomplete?: 'off' | 'on';
  readonly maxLength?: number;
  readonly spellcheck?: boolean;
  /** The id of a list of proposals. */
  readonly list?: string;
}

export function Input({ label, note, path, failure, fault: own = null, onValue, ...rest }: InputOptions) {
  const id = useId();
  const fault = own ?? faultOf(failure, path);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        name={path}
        aria-invalid={fault !== null}
        aria-describedby={`${id}-note`}
        {...(rest as object)}
        onInput={(event) => onValue(event.currentTarget.value)}
      />
      <Note id={`${id}-note`} note={note} fault={fault} />
    </div>
  );
}

/** `code`: what is written is for a machine. */
type AreaOptions = Labelled & {
  value: string;
  onValue: (value: string) => void;
  rows?: number;
  placeholder?: string;
  required?: boolean;
  code?: boolean;
};

export function Area({
  label,
  note,
  path,
  failure,
  fault: own = null,
  onValue,
  value,
  code = false,
  ...rest
}: AreaOptions) {
  const id = useId();
  const fault = own ?? faultOf(failure, path);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        name={path}
        class={code ? 'code' : undefined}
        spellcheck={!code}
        aria-invalid={fault !== null}
        aria-describedby={`${id}-note`}
        value={value}
        {...rest}
        onInput={(event) => onValue(event.currentTarget.value)}
      />
      <Note id={`${id}-note`} note={note} fault={fault} />
    </div>
  );
}

type ChoiceOptions = Labelled & {
  value: string;
  onValue: (value: string) => void;
  choices: readonly (readonly [value: string, label: string])[];
};

export function Choice({ label, note, path, failure, value, onValue, choices }: ChoiceOptions) {
  const id = useId();
  const fault = faultOf(failure, path);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        name={path}
        aria-describedby={`${id}-note`}
        value={value}
        onChange={(event) => onValue(event.currentTarget.value)}
      >
        {choices.map(([one, words]) => (
          <option key={one} value={one} selected={one === value}>
            {words}
          </option>
        ))}
      </select>
      <Note id={`${id}-note`} note={note} fault={fault} />
    </div>
  );
}

export const Check = ({
  label,
  note,
  checked,
  onValue,
  invalid = false,
}: {
  invalid?: boolean;
  label: ComponentChildren;
  note?: ComponentChildren;
  checked: boolean;
  onValue: (value: boolean) => void;
}) => (
  <label class="check">
    <input
      type="checkbox"
      aria-invalid={invalid || undefined}
      checked={checked}
      onChange={(event) => onValue(event.currentTarget.checked)}
    />
    <span>
      {label}
      {note && <small>{note}</small>}
    </span>
  </label>
);

const Note = ({ id, note, fault }: { id: string; note: ComponentChildren; fault: string | null }) =>
  note || fault ? (
    <small id={id} class={fault ? 'fault' : undefined}>
      {fault ?? note}
    </small>
  ) : null;
