/** Secrets of rows: bytes in the store, Base64 in a file. */
import type { DumpRow } from '../dump.ts';
import type { ReplacedSecret, Tool } from '../records.ts';

/** A value whose bytes are written as Base64. */
type InText<T> = T extends Uint8Array ? string : T extends object ? { [Name in keyof T]: InText<T[Name]> } : T;

/** A checked row of a file. */
export type TextRow =
  | Exclude<DumpRow, { readonly type: SecretType }>
  | InText<Extract<DumpRow, { readonly type: SecretType }>>;
type SecretType = 'key' | 'credential' | 'webhook' | 'tool';

type ReplacedWith<Secret> = Omit<ReplacedSecret, 'sealed'> & { readonly sealed: Secret };
type ToolWith<Secret> = Omit<Tool, 'sealed' | 'previous' | 'earlier'> & {
  readonly sealed: Secret | null;
  readonly previous?: ReplacedWith<Secret> | null;
  readonly earlier?: readonly ReplacedWith<Secret>[];
};

/** A tool with its secrets in another form. */
export function toolWith<From, To>({ sealed, previous, earlier, ...tool }: ToolWith<From>, form: (secret: From) => To) {
  const formed = ({ untilMs, sealed: secret }: ReplacedWith<From>) => ({ sealed: form(secret), untilMs });
  return {
    ...tool,
    sealed: sealed && form(sealed),
    ...(previous && { previous: formed(previous) }),
    ...(earlier && { earlier: earlier.map(formed) }),
  };
}

export const base64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
export const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'base64'));
