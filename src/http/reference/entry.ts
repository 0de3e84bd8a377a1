/**
 * The reference's texts on an operation, beyond its row in the table of routes. Texts are Markdown: paragraphs, lists,
 * code.
 */

export interface OperationEntry {
  /** The effect of the operation. */
  readonly does: string;
  /** The charge of a call beyond the budgets of its route, which `costOf` names. */
  readonly cost?: string;
  /** The effect of the same request sent again. A GET needs none: it changes nothing. */
  readonly repeat?: string;
  /** The errors that surprise, and why they come. */
  readonly surprises?: string;
  /** Parameters of the example, by name: query and headers. */
  readonly query?: Readonly<Record<string, string | number | boolean>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** The example's body. */
  readonly body?: unknown;
  /** The example's answer: JSON, or a string where the answer is text. */
  readonly answer?: unknown;
  /** The same as the route's other types, by type. */
  readonly exports?: Readonly<Record<string, string>>;
}

/** Operations that are read together: a tag of the OpenAPI document. */
export interface Area {
  readonly name: string;
  /** The callers of these operations. */
  readonly group: 'API' | 'Service' | 'Console';
  readonly description: string;
  /** Entries by method and path, as in `POST /sessions`. */
  readonly entries: Readonly<Record<string, OperationEntry>>;
}

/** A list with the one page that an example shows. */
export const listOf = (...data: readonly unknown[]) => ({ object: 'list', data, has_more: false, next_cursor: null });
