/**
 * `…/sessions/{id}/history`, `…/keys/{id}/history` and `…/assistants/{id}/history`: the committed steps of an actor,
 * from the store, and among them what it has refused or has done without a commit since it woke, if it is awake in this
 * process. A sleeping actor is not woken for it. `…/sessions/{id}/turns/{turn_id}/history`: the steps of a turn, which
 * its session's history keeps with the step that ended it.
 */
import { kinds } from '../../../machines/all.ts';
import type { TurnContext } from '../../../machines/turn.ts';
import { nobody } from '../../actors/cause.ts';
import { retainedSince } from '../../conversation/access-checks.ts';
import { Failure } from '../../base/errors.ts';
import { secondsOf } from '../../base/clock.ts';
import { list, pageRequest, type PageFields } from '../handlers/lists.ts';
import { folded } from '../../actors/history.ts';
import { isRefused } from '../../actors/inspector.ts';
import type { RepeatedRefusal, Refusals } from '../../actors/refusals.ts';
import { limits } from '../../base/limits.ts';
import type { Reply } from '../request.ts';
import type { Cause, HistoryKind, Move, Page, PageRequest, Session, Snapshot, TurnPast } from '../../store/store.ts';
import { causeOf, pastOf } from '../../turn/event-log.ts';
import type { HistoryItem } from '../../wire/wire.ts';
import { present, reachWorkspace, type ConsoleRequest } from './common.ts';

type HistoryRequest = ConsoleRequest<PageFields & { readonly refused?: boolean }>;

export async function sessionHistory(request: HistoryRequest): Promise<Reply> {
  const { params, services } = request;
  const { id: workspaceId } = await reachWorkspace(request);
  present(await readRetained(request, workspaceId), new Failure('session_not_found'));
  return historyReply(request, 'session', workspaceId, services.host.sessions.population.find(params.id));
}

/** The session as it is stored; null past its retention. */
async function readRetained({ params, services }: HistoryRequest, workspaceId: string): Promise<Session | null> {
  const found = await services.store.sessions.read(workspaceId, params.id);
  return found === null || found.record.lastActivityAt < (await retainedSince(workspaceId, services))
    ? null
    : found.record;
}

export async function turnHistory(request: HistoryRequest): Promise<Reply> {
  const { params, query, services } = request;
  const { id: workspaceId } = await reachWorkspace(request);
  const { id: sessionId, turn_id: turnId } = params;
  present(await readRetained(request, workspaceId), new Failure('session_not_found'));
  // Before the stored steps are read: a turn that ends meanwhile is among these.
  const { runner } = services.host.sessions.population.find(sessionId) ?? { runner: null };
  const running = runner?.turnId === turnId ? runner.past : null;
  const followed = services.host.turns.population.followed(turnId)?.past ?? null;
  const moves = await services.store.history.read('session', workspaceId, sessionId);
  const chat = moves.find(({ event }) => isChatOf(event, turnId));
  const ended = moves.findLast(({ turn }) => turn?.turnId === turnId) ?? null;
  const past = ended?.turn ?? running ?? (chat === undefined ? null : followed);
  if (past === null && (await services.store.turns.read(workspaceId, sessionId, turnId)) === null)
    throw new Failure('turn_not_found');
  const rows = past === null ? [] : rowsOfTurn(past, ended, chat?.cause ?? nobody);
  return list(
    pageRequest(query, 'desc'),
    (page) => pageOf(rows, page, query.refused ?? null),
    (item) => item,
  );
}

const isChatOf = (event: Move['event'], turnId: string): boolean =>
  event.type === 'chat' && (event as { turnId?: string }).turnId === turnId;

/** `ended`: the session's step that ended the turn; null while the turn runs here, or is followed here. */
function rowsOfTurn(past: TurnPast, ended: Move | null, chat: Cause): Row[] {
  return pastOf(past, ended).map(({ event, from, to, context, outcomes }, index): Row => {
    const seq = index + 1;
    const { requestId, by } = causeOf(event.type, (context as TurnContext).ending, chat, past.stoppedBy);
    const view = (): HistoryItem => ({
      seq,
      at: secondsOf(event.at),
      event: event.type,
      from,
      to,
      outcomes: [...outcomes],
      refused: false,
      request_id: requestId,
      by,
      count: 1,
      data: event,
      context: context as Record<string, unknown>,
      version: past.version,
    });
    return { seq, order: 0, refused: false, view };
  });
}

export async function keyHistory(request: HistoryRequest): Promise<Reply> {
  const { params, services } = request;
  const { id: workspaceId } = await reachWorkspace(request);
  present(await services.store.catalog.read('key', workspaceId, params.id));
  return historyReply(request, 'key', workspaceId, services.host.keys.population.find(params.id));
}

export async function assistantHistory(request: HistoryRequest): Promise<Reply> {
  const { params, services } = request;
  const { id: workspaceId } = await reachWorkspace(request);
  present(await services.store.catalog.read('assistant', workspaceId, params.id), new Failure('assistant_not_found'));
  return historyReply(request, 'assistant', workspaceId, services.host.assistants.population.find(params.id));
}

/** `live`: the actor, if it is awake. */
async function historyReply(
  request: HistoryRequest,
  kind: HistoryKind,
  workspaceId: string,
  live: { readonly refusals: Refusals | null } | undefined,
): Promise<Reply> {
  const { query, params, services } = request;
  const { rows } = new History(
    kind,
    await services.store.history.read(kind, workspaceId, params.id),
    live?.refusals?.rows ?? [],
  );
  return list(
    pageRequest(query, 'desc'),
    (page) => pageOf(rows, page, query.refused ?? null),
    (item) => item,
  );
}

/** A step, or equal refusals in a row or another move that committed nothing: then `order` is above 0. */
interface Row {
  readonly seq: number;
  readonly order: number;
  readonly refused: boolean;
  view(): HistoryItem;
}

const before = (a: Pick<Row, 'seq' | 'order'>, b: Pick<Row, 'seq' | 'order'>): number =>
  a.seq - b.seq || a.order - b.order;

/** `rows`: oldest first. */
function pageOf(all: readonly Row[], { after, limit, order }: PageRequest, refused: boolean | null): Page<HistoryItem> {
  const rows = all.filter((row) => refused === null || row.refused === refused);
  if (order === 'desc') rows.reverse();
  const cursor = after === null ? null : cursorOf(after);
  const left =
    cursor === null
      ? rows
      : rows.filter((row) => (order === 'asc' ? before(row, cursor) > 0 : before(row, cursor) < 0));
  const page = left.slice(0, limit);
  const { seq, order: place } = page.at(-1) ?? { seq: 0, order: 0 };
  return {
    items: page.map((row) => row.view()),
    next: left.length > limit ? `${seq}${place === 0 ? '' : `.${place}`}` : null,
  };
}

class History {
  readonly #kind: HistoryKind;
  readonly #moves: readonly Move[];
  /** Oldest first. */
  readonly rows: readonly Row[];
  readonly #snapshots = new Map<number, Snapshot | null>();

  constructor(kind: HistoryKind, moves: readonly Move[], refusals: readonly RepeatedRefusal[]) {
    this.#kind = kind;
    this.#moves = moves;
    // Earlier moves serve the folds alone.
    const shown = moves.filter(({ seq }) => seq > moves.at(-1)!.seq - limits.historyKept);
    const steps = shown.map((move) => ({ ...move, order: 0, event: move.event.type, data: move.event, count: 1 }));
    const { version } = kinds[kind];
    const refused = refusals.map((refusal) => ({ ...refusal, version }));
    this.rows = [...steps, ...refused].map((row) => this.#row(row)).sort(before);
  }

  #row({
    seq,
    order,
    atMs,
    event,
    data,
    from,
    to,
    outcomes,
    cause,
    count,
    version,
  }: Omit<RepeatedRefusal, 'from'> & { readonly from: string | null; readonly version: number }): Row {
    const refused = isRefused(outcomes);
    const view = (): HistoryItem => ({
      seq,
      at: secondsOf(atMs),
      event,
      from,
      to,
      outcomes: [...outcomes],
      refused,
      request_id: cause.requestId,
      by: cause.by,
      count,
      data,
      context: this.#context(seq),
      version,
    });
    return { seq, order, refused, view };
  }

  /**
   * The context that is stored after a step. The steps from one checkpoint to the next are folded together, when one of
   * them is requested.
   */
  #context(seq: number): Record<string, unknown> | null {
    if (!this.#snapshots.has(seq)) this.#fold(seq);
    return (this.#snapshots.get(seq)?.context ?? null) as Record<string, unknown> | null;
  }

  #fold(seq: number): void {
    const begin = Math.max(
      0,
      this.#moves.findLastIndex((move) => move.seq <= seq && move.snapshot !== null),
    );
    const next = this.#moves.findIndex(({ snapshot }, index) => index > begin && snapshot !== null);
    const moves = this.#moves.slice(begin, next < 0 ? this.#moves.length : next);
    let index = 0;
    for (const snapshot of folded(kinds[this.#kind], moves)) this.#snapshots.set(moves[index++]!.seq, snapshot);
  }
}

function cursorOf(after: string): Pick<Row, 'seq' | 'order'> {
  const [seq, order = 0] = after.split('.').map(Number) as [number, number?];
  return { seq, order };
}
