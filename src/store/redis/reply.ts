/** What goes to Redis and what comes back. */

export type Argument = string | number | Uint8Array;

/** Bulk strings come as bytes. */
export type Reply = null | number | Buffer | Reply[];

/** A bulk string as text. */
export const textOf = (reply: Reply | undefined): string => String(reply);
