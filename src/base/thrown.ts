/** Code and message of a thrown value of any type. */

/** The code of a system error, such as ENOENT; undefined for any other. */
export const codeOfThrown = (thrown: unknown): string | undefined =>
  (thrown as NodeJS.ErrnoException | null | undefined)?.code;

export const messageOfThrown = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));
