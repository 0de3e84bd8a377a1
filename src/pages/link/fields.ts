/**
 * The visitor's fields, which are asked for first: each with its fault beside it. Loaded where the assistant asks for
 * some.
 */
import type { VisitorField } from '../../client/types.ts';
import type { Language } from '../words.ts';
import type { VisitorFields } from './chat.ts';
import type { element } from '../dom.ts';
import { numberOf } from './numbers.ts';
import { fieldWords, type FieldWords } from './field-words.ts';

interface Row {
  readonly field: VisitorField;
  readonly input: HTMLInputElement;
  readonly fault: HTMLElement;
}

export interface FieldsOptions {
  readonly fields: readonly VisitorField[];
  readonly language: Language;
  /** The function that makes the page's elements: passed in, so that it stays in the page's own file. */
  readonly element: typeof element;
  /** The last of them was left by Enter. */
  done(): void;
}

const email = /^[^\s@]+@[^\s@]+$/;

export class Fields {
  readonly element: HTMLElement;
  /** Whether there is nothing to ask for. */
  isSettled = false;
  readonly #words: FieldWords;
  readonly #all: readonly Row[];
  /** The fields that are asked for. */
  #rows: readonly Row[];

  constructor({ fields, language, element, done }: FieldsOptions) {
    const words = (this.#words = fieldWords[language]);
    this.#rows = this.#all = fields.map((field, index) => row(field, index, element));
    this.element = element(
      'form',
      { id: 'fields', noValidate: true, 'aria-label': words.beforehand },
      element('h2', {}, words.beforehand),
      ...this.#rows.map((one) => labelled(one, words, element)),
    );
    this.element.addEventListener('submit', (event) => {
      event.preventDefault();
      if (this.complete()) done();
    });
    // A form with more than one field sends itself by Enter only if it has a button.
    this.element.append(element('button', { className: 'hidden', tabIndex: -1, 'aria-hidden': 'true' }));
    for (const { input, fault } of this.#rows) input.addEventListener('input', () => this.#say(input, fault, ''));
  }

  /** Shows the faults and moves the focus to the first faulty field; returns true if there is no fault. */
  complete(): boolean {
    const faults = this.#rows.map(({ field, input, fault }) => this.#say(input, fault, this.#faultOf(field, input)));
    this.#rows[faults.findIndex((text) => text !== '')]?.input.focus();
    return faults.every((text) => text === '');
  }

  /** Shows at the field that the service refused it. */
  markRefused(name: string): void {
    const found = this.#rows.find(({ field }) => field.name === name);
    if (found === undefined) return;
    this.#say(
      found.input,
      found.fault,
      this.#faultOf(found.field, found.input) || this.#wrong(found.field) || this.#words.required,
    );
    found.input.focus();
  }

  get values(): VisitorFields {
    const given = this.#rows.filter(({ field, input }) => field.type === 'boolean' || input.value.trim() !== '');
    return Object.fromEntries(
      given.map(({ field: { name, type }, input }) => [
        name,
        type === 'boolean' ? input.checked : type === 'number' ? numberOf(input.value) : input.value.trim(),
      ]),
    );
  }

  /** Fills in fields that the person has not. */
  prefill(values: VisitorFields, touched = false): void {
    for (const { field, input } of this.#rows) {
      const value = Object.hasOwn(values, field.name) ? values[field.name]! : null;
      if (value === null || (input.dataset['touched'] !== undefined && !touched)) continue;
      if (field.type === 'boolean') input.checked = value === true;
      else input.value = String(value);
      if (touched) input.dataset['touched'] = '';
    }
  }

  /** Leaves out the fields that the site has signed: the service takes them from the token. */
  settle(signed: VisitorFields): void {
    for (const { field, input } of this.#all) input.parentElement!.hidden = Object.hasOwn(signed, field.name);
    this.#rows = this.#all.filter(({ field }) => !Object.hasOwn(signed, field.name));
    this.isSettled = this.#rows.length === 0;
  }

  #faultOf({ type, required }: VisitorField, input: HTMLInputElement): string {
    const text = input.value.trim();
    if (type === 'boolean') return '';
    if (text === '') return required ? this.#words.required : '';
    return (type === 'email' && !email.test(text)) || (type === 'number' && !Number.isFinite(numberOf(text)))
      ? this.#wrong({ type })
      : '';
  }

  #wrong({ type }: Pick<VisitorField, 'type'>): string {
    return type === 'email' ? this.#words.wrongEmail : type === 'number' ? this.#words.wrongNumber : '';
  }

  #say(input: HTMLInputElement, fault: HTMLElement, text: string): string {
    fault.textContent = text;
    if (text === '') input.removeAttribute('aria-invalid');
    else input.setAttribute('aria-invalid', 'true');
    return text;
  }
}

function row(field: VisitorField, index: number, element: FieldsOptions['element']): Row {
  const { name, type, required } = field;
  const fault = element('p', { id: `fault-${index}`, className: 'fault', role: 'alert' });
  const input = element('input', {
    id: `field-${index}`,
    name,
    type: type === 'boolean' ? 'checkbox' : type === 'email' ? 'email' : 'text',
    dir: type === 'boolean' ? '' : 'auto',
    'aria-describedby': fault.id,
    'aria-required': required && type !== 'boolean' ? 'true' : null,
    inputMode: type === 'number' ? 'decimal' : type === 'email' ? 'email' : 'text',
    autocomplete: type === 'email' ? 'email' : /^(full_?)?name$/i.test(name) ? 'name' : 'on',
  });
  input.addEventListener('input', () => void (input.dataset['touched'] = ''));
  return { field, input, fault };
}

function labelled({ field, input, fault }: Row, words: FieldWords, element: FieldsOptions['element']): HTMLElement {
  const label = element('label', { htmlFor: input.id }, element('span', { dir: 'auto' }, field.label));
  if (!field.required && field.type !== 'boolean') label.append(element('small', {}, ` (${words.optional})`));
  return element(
    'div',
    { className: field.type === 'boolean' ? 'field check' : 'field' },
    ...(field.type === 'boolean' ? [input, label] : [label, input]),
    fault,
  );
}
