/** Types and conversions for Redis's arguments and replies. */

export type Argument = string | number | Uint8Array;

/** Bulk strings arrive as bytes. */
export type RedisReply = null | number | Buffer | RedisReply[];

/** A bulk string with one of these texts, as a script returns the name of an outcome. */
export type Named<T extends string> = Buffer & { readonly text?: T };

/** The items of a reply; any other reply is a fault of ours. */
export function listOfReply(reply: RedisReply | undefined): RedisReply[] {
  if (!Array.isArray(reply)) throw new TypeError(`Redis answered with ${typeof reply}, not with a list.`);
  return reply;
}

/** A bulk string as bytes; any other reply is a fault of ours. */
export function bytesOfReply(reply: RedisReply | undefined): Buffer {
  if (!Buffer.isBuffer(reply)) throw new TypeError(`Redis answered with ${typeof reply}, not with bytes.`);
  return reply;
}

/** A bulk string as text. */
export const textOfReply = (reply: RedisReply | undefined): string => String(reply);

/** The name in a script's answer. */
export const nameOf = <T extends string>(reply: Named<T>): T => String(reply) as T;

/** Whether a script's answer begins with this name. */
export const begins = <A extends readonly [Named<string>, ...unknown[]], T extends string>(
  answer: A,
  name: T,
): answer is Extract<A, readonly [Named<T>, ...unknown[]]> => String(answer[0]) === name;
