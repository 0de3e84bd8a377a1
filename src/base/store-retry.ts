/** The waits between two tries of a step that the store did not answer. */

/** Milliseconds before the second try; doubled each time. */
export const storeRetryMs = 100;
/** The longest wait, in milliseconds. */
export const storeRetryMsMax = 2_000;
/** The longest wait of a turn that is writing, in milliseconds: its lease runs meanwhile. */
export const appendRetryMsMax = 500;

/** Milliseconds before a step is sent again that failed `tries` times before. */
export const retryMs = (tries: number): number => Math.min(storeRetryMs * 2 ** tries, storeRetryMsMax);
