/** What the reference says of an operation beyond its row in the table of routes. Texts are Markdown: paragraphs, lists, code. */

export interface Entry {
  /** What the operation does. */
  readonly does: string;
  /** What a call takes beyond the budgets of its route, which `costOf` names. */
  readonly cost?: string;
  /** What happens when the same request is sent again. A GET needs none: it changes nothing. */
  readonly repeat?: string;
  /** The errors that surprise, and why they come. */
  readonly surprises?: string;
  /** Parameters of the example, by name: those of the query and of the headers. */
  readonly query?: Readonly<Record<string, string | number>>;
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
  /** Who calls them. */
  readonly group: 'API' | 'Service' | 'Console';
  readonly description: string;
  /** By method and path, as in `POST /sessions`. */
  readonly entries: Readonly<Record<string, Entry>>;
}

/** A list with the one page that an example shows. */
export const listOf = (...data: readonly unknown[]) => ({ object: 'list', data, has_more: false, next_cursor: null });
