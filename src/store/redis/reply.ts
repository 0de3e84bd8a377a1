/** Types and conversions for Redis's arguments and replies. */

export type Argument = string | number | Uint8Array;

/** Bulk strings arrive as bytes. */
export type RedisReply = null | number | Buffer | RedisReply[];

/** A bulk string as text. */
export const textOfReply = (reply: RedisReply | undefined): string => String(reply);
