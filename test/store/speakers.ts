/** Speakers take turns on a store while faults befall it, and check its transcripts afterwards. */
import type { Session, Store, TurnPlace } from '../../src/store/store.ts';
import { StoreUnavailable } from '../../src/store/store.ts';
import { api, page, Scene } from './fixtures.ts';

const piecesPerTurn = 3;
const wordsOf = (turnId: string): string => `${turnId} `;

/** One speaker and its answers, in a separate workspace and so on one shard. */
export class Speaker {
  readonly scene: Scene;
  session: Session | null = null;
  acknowledged = 0;
  /**
   * Steps that would have begun something and were not taken; turns that had begun and were not told to be finished.
   */
  refused = 0;
  failed = 0;
  /** The monotonic time of the last turn that was acknowledged. */
  spokeAt = -Infinity;
  readonly #turns: { readonly sessionId: string; readonly turnId: string }[] = [];
  /** For every turn that began, the length of its text that was stored, and so might be seen. */
  readonly #seen = new Map<string, { readonly place: TurnPlace; readonly length: number }>();

  constructor(store: Store) {
    this.scene = new Scene(store, Date.now());
  }

  /** One turn after the other until told to stop; a refused one is left to its lease. */
  async speak(ended: () => boolean): Promise<void> {
    while (!ended()) {
      const before = this.refused + this.failed;
      try {
        await this.#turn();
        this.acknowledged++;
        this.spokeAt = performance.now();
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        if (this.refused + this.failed === before) this.refused++;
        this.session = null;
      }
    }
  }

  async #turn(): Promise<void> {
    const { scene } = this;
    this.session ??= await scene.created();
    const turn = await scene.begun(this.session, 1 + this.session.messageCount, { slot: api(1000) });
    const words = wordsOf(turn.place.turnId);
    try {
      for (let count = 0; count < piecesPerTurn; count++) {
        await turn.append(count * words.length, words);
        this.#seen.set(turn.place.turnId, { place: turn.place, length: (count + 1) * words.length });
      }
      const answer = await scene.store.turns.finish(turn.finishStep());
      if (answer.outcome !== 'finished') throw new StoreUnavailable(answer.outcome);
    } catch (error) {
      this.failed++;
      throw error;
    }
    this.#turns.push(turn.place);
    this.session = turn.finishStep().session;
  }

  /** Number of acknowledged turns that are missing or incomplete. */
  async lost(): Promise<number> {
    const { store, workspaceId } = this.scene;
    let lost = 0;
    for (const { sessionId, turnId } of this.#turns) {
      const found = await store.turns.outputAfter({ workspaceId, sessionId, turnId }, 0);
      if (found?.turn.status !== 'completed' || found.text !== wordsOf(turnId).repeat(piecesPerTurn)) lost++;
    }
    return lost;
  }

  /** Number of turns, finished or not, with less text than was stored. */
  async forgotten(): Promise<number> {
    let forgotten = 0;
    for (const { place, length } of this.#seen.values()) {
      const found = await this.scene.store.turns.outputAfter(place, 0);
      if ((found?.text ?? '').length < length) forgotten++;
    }
    return forgotten;
  }

  /**
   * Returns the faults of the transcripts: each answer must consist of its turn's words alone, and be complete if
   * finished.
   */
  async mixed(): Promise<string[]> {
    const { store, workspaceId, now } = this.scene;
    const wrong: string[] = [];
    for (let after: string | null = null, more = true; more;) {
      const found = await store.sessions.list(
        workspaceId,
        { assistantIds: null, status: null, activeSince: 0, now },
        page({ after }),
      );
      for (const session of found.items) wrong.push(...(await this.#wrongIn(session)));
      after = found.next;
      more = after !== null;
    }
    return wrong;
  }

  async #wrongIn(session: Session): Promise<string[]> {
    const wrong: string[] = [];
    const { items } = await this.scene.store.sessions.messages(session.workspaceId, session.id, page());
    if (items.length !== Math.min(page().limit, session.messageCount))
      wrong.push(`${session.id}: ${items.length} of ${session.messageCount} messages`);
    for (const { role, status, content, turnId } of items) {
      if (role === 'user') continue;
      const whole = wordsOf(turnId!).repeat(piecesPerTurn);
      if (status === 'streaming' ? !whole.startsWith(content) : content !== whole)
        wrong.push(`${turnId}: ${status} ${content}`);
    }
    return wrong;
  }
}
