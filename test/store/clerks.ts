/**
 * Clerks take steps that callers rely on once they are answered, while faults befall the store, and check afterwards
 * which ones stand.
 */
import { StoreUnavailable, type Assistant, type Credential, type Store } from '../../src/store/store.ts';
import { api, assistant, at, credential, key, Scene, snapshot, type Begun } from './fixtures.ts';

/** `text` is a piece of output of a turn under way, which somebody may have seen. */
export const reliedOn = ['revocation', 'publication', 'removal', 'end', 'abort', 'withdrawal', 'text'] as const;
export type ReliedOn = (typeof reliedOn)[number];

/** One step that was answered. */
interface Done {
  readonly what: ReliedOn;
  /** Asks the store whether it is as it was answered. */
  readonly stands: () => Promise<boolean>;
}

/** A record is removed so many steps after it was made: a failover that forgot both would leave nothing to be seen. */
const madeBefore = 10;

/** One clerk, in a separate workspace and so on one shard. */
export class Clerk {
  readonly #scene: Scene;
  readonly #done: Done[] = [];
  #published: Assistant | null = null;
  readonly #credentials: Credential[] = [];
  readonly #begun: Begun[] = [];
  #writing: { readonly turn: Begun; position: number } | null = null;
  /** Steps without an answer; their outcome is unknown. */
  refused = 0;

  constructor(store: Store) {
    this.#scene = new Scene(store, Date.now());
  }

  /** Number of answered steps, without pieces of text. */
  get acknowledged(): number {
    return this.#done.filter(({ what }) => what !== 'text').length;
  }

  /**
   * Takes one step after the other until told to stop. Text is written beside them, since it may be answered where the
   * rest is not.
   */
  async work(ended: () => boolean): Promise<void> {
    await Promise.all([
      this.#repeat(
        ended,
        reliedOn.filter((what) => what !== 'text'),
      ),
      this.#repeat(ended, ['text']),
    ]);
  }

  async #repeat(ended: () => boolean, steps: readonly ReliedOn[]): Promise<void> {
    while (!ended()) {
      for (const what of steps) {
        try {
          const stands = await this.#steps[what]();
          if (stands !== null) this.#done.push({ what, stands });
        } catch (error) {
          if (!(error instanceof StoreUnavailable)) throw error;
          this.refused++;
        }
      }
    }
  }

  /** Returns the answered steps that do not stand, by kind. */
  async undone(): Promise<ReliedOn[]> {
    const undone: ReliedOn[] = [];
    for (const { what, stands } of this.#done) if (!(await stands())) undone.push(what);
    return undone;
  }

  /**
   * Each has its step answered and resolves with how to find out whether it stands; null if there was nothing to do
   * yet.
   */
  readonly #steps: Readonly<Record<ReliedOn, () => Promise<(() => Promise<boolean>) | null>>> = {
    revocation: async () => {
      const { catalog } = this.#scene.store;
      const record = key(this.#scene.workspaceId);
      await catalog.create('key', record);
      must(await catalog.replace('key', { ...record, revokedAt: 2, machine: snapshot('revoked') }, 1));
      return async () => (await catalog.keyByPublicId(record.publicId))?.record.revokedAt === 2;
    },
    publication: async () => {
      const { catalog } = this.#scene.store;
      if (this.#published === null) {
        const draft = assistant(this.#scene.workspaceId);
        await catalog.create('assistant', draft);
        this.#published = draft;
      }
      const { id, workspaceId } = this.#published;
      const found = must(await catalog.read('assistant', workspaceId, id));
      const updatedAt = found.record.updatedAt + 1;
      must(
        await catalog.replace(
          'assistant',
          { ...found.record, updatedAt, machine: snapshot('published') },
          found.version,
        ),
      );
      return async () => ((await catalog.read('assistant', workspaceId, id))?.record.updatedAt ?? 0) >= updatedAt;
    },
    removal: async () => {
      const { catalog } = this.#scene.store;
      const made = credential(this.#scene.workspaceId);
      await catalog.create('credential', made);
      if (this.#credentials.push(made) < madeBefore) return null;
      const record = this.#credentials.shift()!;
      if (!(await catalog.remove('credential', record.workspaceId, record.id)))
        throw new StoreUnavailable('forgotten before');
      return async () => (await catalog.read('credential', record.workspaceId, record.id)) === null;
    },
    end: async () => {
      const { store } = this.#scene;
      const session = await this.#scene.created();
      must(await store.sessions.save({ ...session, machine: snapshot('ended') }, at(1, session.mark)));
      return async () => (await store.sessions.read(session.workspaceId, session.id))?.record.machine.state === 'ended';
    },
    abort: async () => {
      const { store, nowMs } = this.#scene;
      const turn = await this.#scene.streaming({ slot: api(Infinity) });
      if (!(await store.turns.requestStop(turn.place, 'aborted', nowMs + 600_000, nowMs)))
        throw new StoreUnavailable('forgotten before');
      // The owner learns it from its next stored piece.
      return async () => typeof (await turn.append(0, 'a')) === 'object';
    },
    withdrawal: async () => {
      const { store } = this.#scene;
      if (this.#begun.push(await this.#scene.streaming({ slot: api(Infinity) })) < madeBefore) return null;
      const turn = this.#begun.shift()!;
      if ((await store.turns.withdraw(turn.withdrawStep())).outcome !== 'finished')
        throw new StoreUnavailable('forgotten before');
      const { workspaceId, sessionId, turnId } = turn.place;
      return async () => (await store.turns.read(workspaceId, sessionId, turnId)) === null;
    },
    text: async () => {
      const { store } = this.#scene;
      const writing = (this.#writing ??= { turn: await this.#scene.streaming({ slot: api(Infinity) }), position: 0 });
      // A turn whose write was not answered is not written to again.
      this.#writing = null;
      const stored = await writing.turn.append(writing.position, 'a').catch(forgottenText);
      if (stored !== 'stored') throw new StoreUnavailable('forgotten before');
      const length = ++writing.position;
      this.#writing = writing;
      return async () => ((await store.turns.outputAfter(writing.turn.place, 0))?.text ?? '').length >= length;
    },
  };
}

/** The next piece would leave a hole if a failover has lost the end of a text. */
function forgottenText(error: Error): null {
  if (error instanceof RangeError) return null;
  throw error;
}

/**
 * Throws on a lost comparison: here only a failover can have forgotten the record, so the step counts as not answered.
 */
function must<T>(answer: T | null): T {
  if (answer === null) throw new StoreUnavailable('forgotten before');
  return answer;
}
