/** Makes a call on a store from the values drawn, with arguments that are the same for every store. */
import { type StepName, type Steps, takeStep } from '../../../src/store/steps.ts';
import type { AuditEntry, Basis, Fence, IdempotencyRecord, Session, Store } from '../../../src/store/store.ts';
import type { Drawn } from './drawn.ts';
import { Known, type KnownTurn, chosen, picked } from './known.ts';

/** A call of one of the store's steps. */
export interface Call {
  readonly verb: string;
  readonly args: readonly unknown[];
  readonly run: (store: Store) => unknown;
  /** The arguments are valid only at this time: sent later, they would be another step. */
  readonly timed: boolean;
  /** A step that was sent before it and has not come yet: sent again, it is taken after. */
  readonly late?: Call;
  /** Records the facts that the answer reveals. */
  readonly learn?: (answer: any) => void;
}

export type StoreStep = Exclude<StepName, `catalog.${string}` | 'open' | 'close' | 'watch' | 'noteTime'>;

export const call = <S extends StoreStep>(
  verb: S,
  timed: boolean,
  args: Parameters<Steps[S]>,
  learn?: Call['learn'],
): Call => ({
  verb,
  args,
  timed,
  run: (store) => takeStep(store, verb, args),
  ...(learn && { learn }),
});

export const leases = [5_000, 60_000, 800, 0, 60_000, 80_000] as const;
const memories = [86_400_000, 60_000, 86_400_000, 1, 30 * 86_400_000] as const;
export const daySeconds = 86_400;

/** Makes the call, or null where there is nothing yet to make it on. */
export type Make = (known: Known, drawn: Drawn) => Promise<Call | null> | Call | null;

export const basisOf = (known: Known, { near }: Drawn, version: number, mark: string | undefined): Basis =>
  chosen(
    [
      { version, mark },
      { version: version + 1, mark },
      { version: version - 1, mark },
      { version, mark: known.name() },
    ],
    near,
  );

export function fenceOf({ fences }: Pick<KnownTurn, 'fences'>, { near }: Drawn): Fence {
  const newest = fences.at(-1)!;
  return chosen(
    [
      newest,
      fences.at(-2) ?? { ...newest, epoch: newest.epoch + 1 },
      { ...newest, owner: 'nobody' },
      { ...newest, epoch: newest.epoch + 1 },
    ],
    near,
  );
}

export const rememberedOf = (known: Known, { which, lasts, text }: Drawn, resultId: string): IdempotencyRecord => ({
  scope: `key_${which % 2} /sessions`,
  key: `again ${which % 2}`,
  bodyDigest: text,
  resultId,
  untilMs: known.nowMs + chosen(memories, lasts),
});

/** A session that has ended or expired stays so, and begins no turn. */
export const isOver = ({ machine: { state } }: Session): boolean => state === 'ended' || state === 'expired';

/** A move of a session that the host would save with it. A session without a mark is one of an earlier version. */
export const moved = (known: Known, record: Session, over: Partial<Session>): Session => ({
  ...record,
  ...over,
  ...(isOver(record) && { machine: record.machine }),
  ...(record.mark !== undefined && { mark: known.name() }),
});

/** The row in the audit of a step that leaves out the field without one. */
export function audited(known: Known, workspaceId: string, drawn: Drawn): { readonly audit?: AuditEntry } {
  const audit = known.audit(workspaceId, drawn);
  return audit === undefined ? {} : { audit };
}

export const ofSession =
  (make: (known: Known, drawn: Drawn, place: [workspaceId: string, sessionId: string]) => Call): Make =>
  (known, drawn) => {
    const session = picked(known.sessions, drawn.pick);
    const place =
      session === undefined
        ? ([known.workspaceId(0), 'no session: {*}'] as const)
        : ([session.workspaceId, session.id] as const);
    return make(known, drawn, [...place]);
  };

/** The verbs that are about a turn. */
export const ofTurn =
  (make: (known: Known, drawn: Drawn, turn: KnownTurn) => Promise<Call | null> | Call | null): Make =>
  (known, drawn) => {
    const alive = drawn.alive ? known.turns.filter(({ over }) => !over) : [];
    const turn = picked(alive.length > 0 ? alive : known.turns, drawn.pick);
    return turn === undefined ? null : make(known, drawn, turn);
  };

export const pageOf = ({ which, lasts, flag }: Drawn, after: string | null) =>
  ({ limit: chosen([100, 1, 2, 3], which), after: lasts > 2 ? after : null, order: flag ? 'asc' : 'desc' }) as const;

/** Sweeps until nothing is left, since the order among several workspaces is not defined. */
export const sweep: Make = (known, { which }) => {
  const limit = chosen([100, 1, 2], which);
  const run = async (store: Store): Promise<number[]> => {
    const swept: number[] = [];
    do swept.push(await store.sweep(known.nowMs, limit));
    while (swept.at(-1) === limit);
    return swept;
  };
  return { verb: 'sweep', args: [known.nowMs, limit], timed: true, run };
};
