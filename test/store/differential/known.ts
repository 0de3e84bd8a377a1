/**
 * A random life's knowledge of the records that it has made, so that the arguments of its further steps are near the
 * truth.
 */
import type {
  AuditEntry,
  BeginTurn,
  CatalogKind,
  CatalogRecords,
  Fence,
  Move,
  ReleaseBasis,
  Session,
  Store,
  Turn,
  TurnPlace,
  Versioned,
  WebhookDelivery,
} from '../../../src/store/store.ts';
import { webhookEvents } from '../../../src/base/webhook-events.ts';
import { codePoints } from '../../../src/base/text.ts';
import { assistant, credential, key, snapshot, workspace, tool, webhook } from '../fixtures.ts';
import type { Drawn } from './drawn.ts';

/** A turn that a store has begun. */
export interface KnownTurn {
  readonly place: TurnPlace;
  readonly begun: BeginTurn;
  /** The fences of its owners, the newest last. */
  readonly fences: Fence[];
  /** The newest owner died with an earlier process of the embedded store. */
  orphaned: boolean;
  /** The turn is finished or withdrawn. */
  over: boolean;
}

/** The item at this distance from the newest; undefined if there are fewer. */
export const picked = <T>(known: readonly T[], pick: number): T | undefined =>
  known.length === 0 ? undefined : known[known.length - 1 - (pick % known.length)];

export const chosen = <T>(list: readonly T[], which: number): T => list[which % list.length]!;

/** Records in no workspace are left out: they are stored like a credential. */
type DrawnKind = Exclude<
  CatalogKind,
  | ('sign_in' | 'sign_in_link' | 'person' | 'audit_entry' | 'audit_place' | 'assistant_version')
  | ('assistant_test' | 'test_run' | 'test_result' | 'test_queue')
>;
const kinds = ['workspace', 'assistant', 'key', 'credential'] as const satisfies readonly DrawnKind[];
const prefixes = {
  workspace: 'wks',
  assistant: 'asst',
  key: 'key',
  credential: 'crd',
  tool: 'tool',
  webhook: 'whk',
} as const;

/** A key has one of two public ids; no two keys have the same. */
export const publicIdOf = (workspaceId: string, id: string, which: number): string =>
  `${workspaceId}-${id}-${which % 2}`;

/** Few enough that assistants want the same one. */
export const slugs = [null, 'ada', 'bob'] as const;

export class Known {
  /** The time that all stores are given. */
  nowMs = 1_790_000_000_123;
  /** The end of the newest lease requested. */
  leaseUntilMs = 0;
  readonly sessions: Session[] = [];
  readonly turns: KnownTurn[] = [];
  /** Deliveries that an owner has claimed since the embedded stores were opened last. */
  readonly claims: { readonly owner: string; readonly delivery: WebhookDelivery }[] = [];
  readonly #truth: Store;
  #made = 0;
  #audited = 0;
  /** Number of retired ids, by kind and place: a removed record never comes back under its id. */
  readonly #removed = new Map<string, number>();

  /** `truth` is asked what there is now. */
  constructor(truth: Store) {
    this.#truth = truth;
  }

  get now(): number {
    return Math.floor(this.nowMs / 1000);
  }

  /** An id that no other has. Ids of one kind are not made in their order. */
  id(prefix: string, order = 0): string {
    return `${prefix}_${'mhzaqk'[order % 6]}${++this.#made}`;
  }

  /** A random name, as marks and owners are. */
  name(): string {
    return `n${++this.#made}`;
  }

  workspaceId(which: number): string {
    return this.catalogId('workspace', which % 2);
  }

  catalogId(kind: DrawnKind, which: number): string {
    const place = `${prefixes[kind]}_${which % 2}`;
    return `${place}_${this.#removed.get(place) ?? 0}`;
  }

  removed(id: string): void {
    const place = id.slice(0, id.lastIndexOf('_'));
    this.#removed.set(place, (this.#removed.get(place) ?? 0) + 1);
  }

  kind(which: number): DrawnKind {
    return which === 7 ? 'webhook' : chosen(kinds, which);
  }

  record<K extends DrawnKind>(
    kind: K,
    workspaceId: string,
    { pick, which, text }: Pick<Drawn, 'pick' | 'which' | 'text'>,
  ): CatalogRecords[K] {
    const id = kind === 'workspace' ? workspaceId : this.catalogId(kind, pick);
    const make = {
      workspace: () => workspace({ id, name: text, retentionDays: 1 + (which % 3) * 15 }),
      assistant: () =>
        assistant(workspaceId, {
          id,
          name: text,
          link: { slug: chosen(slugs, which + text.length), limits: {}, origins: [] },
          machine: snapshot('draft', { text }),
        }),
      key: () => key(workspaceId, { id, name: text, publicId: publicIdOf(workspaceId, id, which) }),
      credential: () => credential(workspaceId, { id, provider: text }),
      tool: () => tool(workspaceId, { id, name: text }),
      webhook: () =>
        webhook(workspaceId, {
          id,
          url: text,
          enabled: pick < 3,
          events: [...webhookEvents].slice(which % 3 === 0 ? 1 : 0),
        }),
    };
    return make[kind]() as CatalogRecords[K];
  }

  /** An assistant with a release that its later turns may halt; another record as it is. */
  released<R>(record: R, kind: CatalogKind, { which, near, flag }: Pick<Drawn, 'which' | 'near' | 'flag'>): R {
    if (kind !== 'assistant') return record;
    const candidate = {
      version: 2,
      digest: 'two',
      percent: 10,
      halt: flag ? { failedPercent: 30, afterTurns: 1 + near } : null,
      isHalted: false,
      since: which % 3,
    };
    const release = { current: 1, newest: 2, digest: 'one', earlier: [], revision: which };
    return { ...record, release: { ...release, ...(which !== 1 && { candidate }) } };
  }

  /** The release that gives a session of the assistant its version, or another one. */
  async releaseOf(
    { workspaceId, assistantId }: Pick<Session, 'workspaceId' | 'assistantId'>,
    isOther: boolean,
  ): Promise<ReleaseBasis> {
    const stored = await this.#truth.catalog.read('assistant', workspaceId, assistantId);
    const revision = stored?.record.release?.revision ?? 0;
    return { assistantId, revision: isOther ? revision + 1 : revision };
  }

  /** The row in the audit that the console writes with some steps. Its ids are numbered apart from the others. */
  audit(workspaceId: string, { flag, text }: Pick<Drawn, 'flag' | 'text'>): AuditEntry | undefined {
    if (!flag) return undefined;
    return {
      id: `aud_${String(++this.#audited).padStart(6, '0')}`,
      workspaceId,
      at: this.now,
      by: { id: 'prs_1', name: text, role: 'owner', address: null },
      action: 'update',
      objectType: 'assistant',
      objectId: 'asst_1',
      inWorkspaceId: workspaceId,
      changes: [{ path: 'name', before: text, after: [text] }],
    };
  }

  /** The move that a host writes with a step. */
  move(seq: number, { which, flag, text }: Pick<Drawn, 'which' | 'flag' | 'text'>): Move {
    const cause =
      which > 3
        ? { requestId: null, by: null }
        : { requestId: this.name(), by: { kind: 'key', id: 'key_0_0', name: text } as const };
    return {
      seq,
      atMs: this.nowMs,
      version: 1,
      event: { type: 'chat' },
      from: seq === 1 ? null : 'open',
      to: 'open',
      outcomes: flag ? [{ type: 'unchanged' }] : [],
      cause,
      snapshot: flag ? snapshot('open', { text }) : null,
    };
  }

  /** A session as it stands, or, where it is gone, as it was made. */
  async session({ workspaceId, id }: Pick<Session, 'workspaceId' | 'id'>): Promise<Versioned<Session>> {
    const made = this.sessions.find((each) => each.id === id)!;
    return (await this.#truth.sessions.read(workspaceId, id)) ?? { record: made, version: 1 };
  }

  turn({ workspaceId, sessionId, turnId }: TurnPlace): Promise<Turn | null> {
    return this.#truth.turns.read(workspaceId, sessionId, turnId);
  }

  async isThere(kind: CatalogKind, workspaceId: string, id: string): Promise<number | null> {
    return (await this.#truth.catalog.read(kind, workspaceId, id))?.version ?? null;
  }

  /** Whether a turn of the session is in flight: a machine begins no second one (contract 3). */
  async isStreaming(sessionId: string): Promise<boolean> {
    for (const { place } of this.turns) {
      if (place.sessionId === sessionId && (await this.turn(place))?.status === 'streaming') return true;
    }
    return false;
  }

  /** A position in a turn's output: its end, within it, its beginning, or one beyond. */
  async position(place: TurnPlace, near: number): Promise<number> {
    const end = codePoints(await this.#truth.turns.output(place));
    return chosen([end, Math.max(0, end - 1), 0, end + 1], near);
  }
}
