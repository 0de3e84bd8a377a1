/**
 * The workspaces that this process asks for deliveries to webhooks, with the time at which it asks each. A process knows
 * the ends that it has stored itself, and from each answer of a workspace when its next delivery is due. What it does
 * not know, such as the ends of a process that has died, a regular sweep of all workspaces with webhooks finds.
 */
import { evictOldest } from '../../base/evict-oldest.ts';

/** Workspaces with ends that a process remembers between two claims. A sweep finds what it forgets. */
const endedMax = 10_000;

export class DueWorkspaces {
  /** Workspaces in which an end was stored; many have no webhook. */
  #ended = new Map<string, true>();
  /** Time in milliseconds of the next question to each workspace. */
  readonly #dueMs = new Map<string, number>();

  /** Notes that a step that may store an event was sent. */
  ended(workspaceId: string): void {
    if (this.#ended.has(workspaceId)) return;
    this.#ended.set(workspaceId, true);
    evictOldest(this.#ended, endedMax);
  }

  /** The noted workspaces with ends; forgets them. */
  takeEnded(): string[] {
    if (this.#ended.size === 0) return [];
    const ended = [...this.#ended.keys()];
    this.#ended = new Map();
    return ended;
  }

  /** Notes when a delivery of a workspace is due; an earlier time stays. */
  note(workspaceId: string, dueMs: number): void {
    const known = this.#dueMs.get(workspaceId);
    if (known === undefined || dueMs < known) this.#dueMs.set(workspaceId, dueMs);
  }

  /** The workspaces to ask now, the one that was asked longest ago first. */
  dueAt(nowMs: number): string[] {
    return [...this.#dueMs].flatMap(([workspaceId, dueMs]) => (dueMs <= nowMs ? [workspaceId] : []));
  }

  /** Forgets a workspace before it is asked: a note meanwhile counts beside the answer. */
  forget(workspaceId: string): void {
    this.#dueMs.delete(workspaceId);
  }
}
