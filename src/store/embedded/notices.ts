/** Notices within the one process that has the store open. */
import type { CatalogKind, Notice, Session, TurnPlace } from '../store.ts';

export class Notices {
  readonly #listeners = new Set<(notice: Notice) => void>();
  /** Turns whose next move must be notified. */
  readonly #awaited = new Set<string>();
  /** Sessions whose next move must be notified, with their workspaces. */
  readonly #followed = new Map<string, string>();

  watch(listener: (notice: Notice) => void): () => Promise<void> {
    // Each watch is separate, even if the function watches already.
    const heard = (notice: Notice): void => listener(notice);
    this.#listeners.add(heard);
    return async () => void this.#listeners.delete(heard);
  }

  send(notice: Notice): void {
    for (const listener of this.#listeners) listener(notice);
  }

  /** A reader has read all stored output of the turn and waits for more. */
  awaitMove({ turnId }: TurnPlace): void {
    this.#awaited.add(turnId);
  }

  sendMoved({ workspaceId, sessionId, turnId }: TurnPlace): void {
    if (this.#awaited.delete(turnId)) this.send({ type: 'turn.moved', workspaceId, sessionId, turnId });
  }

  awaitSession(workspaceId: string, sessionId: string): void {
    this.#followed.set(sessionId, workspaceId);
  }

  /**
   * Notifies followers of the session once a step that moves or removes it is committed. Returns the step's answer
   * unchanged, and the same promise: answers come in the order of their steps.
   */
  tellMove<Answer>(
    { workspaceId, id }: Pick<Session, 'workspaceId' | 'id'>,
    decided: Promise<Answer>,
    hasMoved: (answer: Answer) => boolean,
  ): Promise<Answer> {
    if (this.#followed.has(id))
      decided.then(
        (answer) => hasMoved(answer) && this.sendSessionMoved(workspaceId, id),
        () => {},
      );
    return decided;
  }

  sendSessionMoved(workspaceId: string, sessionId: string): void {
    if (this.#followed.delete(sessionId)) this.send({ type: 'session.moved', workspaceId, sessionId });
  }

  /** The workspace is removed, with its sessions. */
  sendRemoved(workspaceId: string): void {
    for (const [sessionId, its] of this.#followed) if (its === workspaceId) this.sendSessionMoved(its, sessionId);
  }

  sendChanged(kind: CatalogKind, workspaceId: string, id: string): void {
    this.send({ type: 'changed', kind, workspaceId, id });
  }
}
