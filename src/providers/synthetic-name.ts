/** Names of synthetic models and voices, which contain their settings: `tokens=200,delay_ms=20,fail_at=50`. */
import type { ModelFailure } from './model.ts';

/** The setting that one key of a name sets. */
export interface NameSetting<Settings> {
  readonly field: keyof Settings;
  /** With its default in brackets. */
  readonly meaning: string;
  /** The value; undefined if the text has the wrong form. */
  read(text: string): Settings[keyof Settings] | undefined;
}

export type NameSettings<Settings> = Readonly<Record<string, NameSetting<Settings>>>;

/** The ways in which a synthetic provider can fail. */
export const failures: readonly ModelFailure[] = [
  'credential',
  'address',
  'connect',
  'rate_limit',
  'status',
  'redirect',
  'first_output_timeout',
  'idle_timeout',
  'malformed',
  'provider_error',
  'cut',
];

export const wholeUpTo =
  (max: number) =>
  (text: string): number | undefined =>
    /^\d{1,9}$/.test(text) && Number(text) <= max ? Number(text) : undefined;
export const switchValue = (text: string): boolean | undefined =>
  text === '1' ? true : text === '0' ? false : undefined;
export const failure = (text: string): ModelFailure | undefined => failures.find((one) => one === text);
export const word = (text: string): string | undefined => (text !== '' && text.length <= 1000 ? text : undefined);

export const meaningsOf = <Settings>(keys: NameSettings<Settings>): { key: string; meaning: string }[] =>
  Object.entries<NameSetting<Settings>>(keys).map(([key, { meaning }]) => ({ key, meaning }));

/** Reads a name strictly: the settings, or the first key that is unknown, repeated or has no such value. */
export function parseName<Settings extends object>(
  keys: NameSettings<Settings>,
  defaults: Settings,
  name: string,
): Settings | string {
  const settings: Partial<Settings> = {};
  for (const item of name === '' ? [] : name.split(',')) {
    const equals = item.indexOf('=');
    const keyName = (equals === -1 ? item : item.slice(0, equals)).trim();
    const key = Object.hasOwn(keys, keyName) ? keys[keyName]! : undefined;
    const value = equals === -1 ? undefined : key?.read(item.slice(equals + 1).trim());
    if (key === undefined || value === undefined || key.field in settings) return keyName;
    settings[key.field] = value;
  }
  return { ...defaults, ...settings };
}
