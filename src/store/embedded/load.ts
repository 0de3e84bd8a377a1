/**
 * An embedded store that loads an export: writes the engine's rows and their indexes as the verbs would have left them.
 */
import { full } from '../../../machines/budget.ts';
import type { TurnPlace } from '../store.ts';
import { budgetNames, usedAtOf, type Buckets } from '../budgets.ts';
import { unpackRow } from '../codec.ts';
import { holdsOtherData } from '../dump.ts';
import type { DumpProgress, DumpRow, DumpTarget, KeyRow, MessageRow, ReleaseRow, TurnRow } from '../dump.ts';
import type { Engine } from '../engine.ts';
import { moveRow } from '../moves.ts';
import { versionCountsRow } from '../releases.ts';
import { usageFields } from '../usage.ts';
import { putAudit } from './audit.ts';
import type { FlightRow } from './flights.ts';
import { putDelivery } from './deliveries.ts';
import * as keys from './keys.ts';
import { Draft } from '../write-batcher.ts';
import { putRelease } from './releases.ts';
import type * as rows from './rows.ts';
import { putSession } from './sessions.ts';

export class EmbeddedTarget implements DumpTarget {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  get name(): string {
    return this.#engine.name;
  }

  open(): Promise<void> {
    return this.#engine.open();
  }

  close(): Promise<void> {
    return this.#engine.close();
  }

  async progress(id: string): Promise<DumpProgress> {
    const stored = this.#engine.get(keys.importing);
    if (stored === undefined) {
      if (this.#holdsRows()) throw holdsOtherData();
      return { id, rows: 0, done: false };
    }
    const progress = unpackRow<DumpProgress>(stored);
    if (progress.id !== id) throw holdsOtherData();
    return progress;
  }

  /** Rows and progress are one commit, so the progress is never ahead of the rows. */
  load(rows: readonly DumpRow[], progress: DumpProgress): Promise<void> {
    const draft = new Draft();
    for (const row of rows) put(draft, row);
    draft.put(keys.importing, progress);
    return this.#engine.write(draft.rows);
  }

  #holdsRows(): boolean {
    for (const [key] of this.#engine.range('', '\x7f', false)) if (!keys.ownRows.includes(key)) return true;
    return false;
  }
}

function put(draft: Draft, row: DumpRow): void {
  switch (row.type) {
    case 'workspace':
    case 'assistant':
    case 'assistant_version':
    case 'assistant_test':
    case 'credential':
    case 'tool':
    case 'webhook':
    case 'key': {
      const { type, record, version } = row;
      draft.put(keys.catalog(type, 'workspaceId' in record ? record.workspaceId : record.id) + keys.part(record.id), {
        record,
        version,
      });
      // If two assistants have one slug or alias, which only an earlier version could write, the last loaded one has
      // it.
      if (type === 'assistant' && record.link?.slug)
        draft.put(keys.slug(record.link.slug), { workspaceId: record.workspaceId, id: record.id });
      if (type === 'assistant' && record.alias)
        draft.put(keys.alias(record.workspaceId, record.alias), { workspaceId: record.workspaceId, id: record.id });
      if (type === 'assistant') putRelease(draft, record);
      if (type === 'credential' && record.name)
        draft.put(keys.credentialName(record.workspaceId, record.name), {
          workspaceId: record.workspaceId,
          id: record.id,
        });
      if (type === 'webhook' && record.enabled) draft.put(keys.deadlineFill(record.workspaceId), '');
      return type === 'key' ? putKey(draft, row) : undefined;
    }
    case 'release':
      return putCounts(draft, row);
    case 'session':
      return putSession(draft, null, { session: row.record, version: row.version, withdrawn: row.withdrawn });
    case 'history':
      for (const move of row.moves) draft.put(keys.move(row.kind, row.workspaceId, row.id, move.seq), moveRow(move));
      return undefined;
    case 'message':
      return putMessage(draft, row);
    case 'turn':
      return putTurn(draft, row);
    case 'memory': {
      const key = keys.memory(row.workspaceId, row.record.scope, row.record.key);
      draft.put(key, row.record);
      return draft.put(keys.memoryEnd(row.record.untilMs, key), key);
    }
    case 'usage':
      return draft.put(
        keys.usageAt(row.grain, row.workspaceId, keys.account(row.assistantId, row.keyId), row.start),
        usageFields.map((field) => row.counts[field] ?? 0),
      );
    case 'delivery':
      return putDelivery(draft, row.record);
    case 'audit':
      return putAudit(draft, row.record);
  }
}

/** A draft that is written to the engine itself packs no counts. */
function putCounts(draft: Draft, { workspaceId, assistantId, candidate, versions }: ReleaseRow): void {
  draft.put(keys.candidateCounts(workspaceId, assistantId), [candidate.turns, candidate.failedTurns]);
  for (const { number, ...counts } of versions)
    draft.put(keys.versionCountsAt(workspaceId, assistantId, number), versionCountsRow(counts));
}

/** When a key was used last is said by its buckets: if none is left, by a full one. */
function putKey(draft: Draft, { record, budgets: left, usedAt }: KeyRow): void {
  const isSaid = usedAt === undefined || (usedAtOf(left) ?? 0) >= usedAt;
  const budgets: Buckets = isSaid ? left : { ...left, requests: full(record.limits.requests, usedAt * 1000) };
  draft.put(keys.publicKey(record.publicId), { workspaceId: record.workspaceId, id: record.id });
  for (const name of budgetNames) {
    if (budgets[name] !== undefined) draft.put(keys.budget(record.workspaceId, record.id, name), budgets[name]);
  }
}

/** A streaming message has no row: it is part of its turn's flight. Its output is stored in pieces, here in one. */
function putMessage(draft: Draft, { workspaceId, sessionId, index, record }: MessageRow): void {
  if (record.status !== 'streaming' || record.turnId === null)
    draft.put(keys.message(workspaceId, sessionId, index), record, 'message');
  else if (record.content !== '')
    draft.put(keys.outputAt({ workspaceId, sessionId, turnId: record.turnId }, 0), record.content);
}

function putTurn(draft: Draft, { workspaceId, record: rated, begun, finished, flight }: TurnRow): void {
  const { feedback, ...record } = rated;
  const place: TurnPlace = { workspaceId, sessionId: record.sessionId, turnId: record.id };
  if (flight === null)
    return draft.put(
      keys.turn(place),
      { turn: record, begun, finished, ...(feedback && { claimed: true, feedback }) } satisfies rows.StoredTurn,
      'turn',
    );
  const { fence, stop, remembered, released, calls = [] } = flight;
  for (const [index, call] of calls.entries()) draft.put(keys.call(place, index), call);
  const memory = remembered === null ? null : keys.memory(workspaceId, remembered.scope, remembered.key);
  draft.put(
    keys.flight(place),
    {
      place,
      fence,
      leaseUntilMs: 0,
      slotUntilMs: 0,
      slotsMax: 0,
      memory,
      stop,
      turn: record,
      begun,
      ...(released !== undefined && { released }),
      ...(calls.length > 0 && { calls: calls.length }),
    } satisfies FlightRow,
    'flight',
  );
}
