/**
 * The tabs that show a session, as far as the browser reports them: it has locks on pages loaded over HTTPS or from
 * localhost.
 */

/**
 * Lets other tabs know that this one shows the session. The function returned takes that back, and calls `end` unless
 * another one shows it.
 */
export function showSession(session: string): (end: () => void) => void {
  let leave = (): void => {};
  const left = new Promise<void>((resolve) => (leave = resolve));
  const { locks } = navigator as { readonly locks?: LockManager };
  const held = locks?.request(session, { mode: 'shared' }, () => left).catch(() => {});
  return (end) => {
    leave();
    if (locks === undefined) return end();
    held!.then(() => locks.request(session, { ifAvailable: true }, (lock) => lock !== null && end())).catch(end);
  };
}
