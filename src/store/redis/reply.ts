/** Types and conversions for Redis's arguments and replies. */

export type Argument = string | number | Uint8Array;

/** Bulk strings arrive as bytes. */
export type Reply = null | number | Buffer | Reply[];

/** A bulk string as text. */
export const textOf = (reply: Reply | undefined): string => String(reply);
