/**
 * Open connections to MCP servers: one for each server, workspace and credential. A session is ended when it is idle,
 * is dropped, or the process ends.
 */
import { createHash } from 'node:crypto';
import type { Clock, Timer } from '../../../base/clock.ts';
import { limits } from '../../../base/limits.ts';
import { evictOldest } from '../../../base/evict-oldest.ts';
import type { ProviderHttp } from '../../client.ts';
import type { ToolAccess } from '../../tool.ts';
import type { McpConnection } from './connection.ts';
import { McpEntry } from './entry.ts';
import type { EntryFailure } from './handshake.ts';

/** Milliseconds for which a server of an older revision is remembered as one. */
const toolEraMs = 10 * 60_000;
/** Milliseconds after which a session with an MCP server is ended that has no request. */
export const toolSessionIdleMs = 5 * 60_000;
/** Milliseconds for the requests that end the sessions with MCP servers. */
const toolSessionsEndMs = 2_000;

/** A use of a connection. */
export interface Lease {
  readonly connection: McpConnection;
  /** Whether the session has served a request before. */
  readonly isReused: boolean;
  /** Ends the use. `then`: whether the next use may have this connection, or the reason against it. */
  release(then: 'keep' | 'retire' | 'lost'): void;
}

interface Place {
  readonly entry: McpEntry;
  readonly opened: Promise<McpConnection | EntryFailure>;
  uses: number;
  everUsed: boolean;
  idle: Timer | null;
  /** Only a `kept` connection serves further requests; the server does not know a `lost` one. */
  state: 'kept' | 'retired' | 'lost';
}

export class McpConnections {
  readonly #http: ProviderHttp;
  readonly #clock: Clock;
  /** Connections for new uses, the most recently used one last. */
  readonly #places = new Map<string, Place>();
  /** Servers of the legacy era, with the time until which they are assumed to be. */
  readonly #legacy = new Map<string, number>();
  readonly #endings = new Set<Promise<void>>();

  constructor(http: ProviderHttp, clock: Clock) {
    this.#http = http;
    this.#clock = clock;
  }

  /** Step of the handshake with a server; null if none runs. */
  stepOf(tool: ToolAccess): McpEntry['step'] | null {
    return this.#places.get(keyOf(tool))?.entry.step ?? null;
  }

  /** Returns the open connection, or opens one. */
  async lease(tool: ToolAccess): Promise<Lease | EntryFailure> {
    const key = keyOf(tool);
    const place = this.#places.get(key) ?? this.#open(key, tool);
    this.#places.delete(key);
    this.#places.set(key, place);
    place.uses++;
    place.idle?.cancel();
    const opened = await place.opened;
    const isReused = place.everUsed;
    place.everUsed = true;
    if ('error' in opened) return opened;
    return { connection: opened, isReused, release: (then) => this.#release(key, place, then) };
  }

  #open(key: string, tool: ToolAccess): Place {
    const entry = new McpEntry(this.#http, this.#clock, tool);
    const isLegacy = (this.#legacy.get(key) ?? 0) > this.#clock.monotonic();
    const opened = entry.run(isLegacy);
    const place: Place = { entry, opened, uses: 0, everUsed: false, idle: null, state: 'kept' };
    this.#places.set(key, place);
    void opened.then((result) => {
      if ('error' in result) {
        this.#forget(key, place);
        this.#legacy.delete(key);
      } else if (result.protocol.era === 'legacy' && !isLegacy) {
        this.#legacy.set(key, this.#clock.monotonic() + toolEraMs);
        evictOldest(this.#legacy, limits.providerOriginsMax);
      }
    });
    this.#evict();
    return place;
  }

  #release(key: string, place: Place, then: 'keep' | 'retire' | 'lost'): void {
    place.uses--;
    if (then !== 'keep') this.#forget(key, place);
    if (then === 'lost') this.#legacy.delete(key);
    if (place.state !== 'lost' && then !== 'keep') place.state = then === 'lost' ? 'lost' : 'retired';
    if (place.uses > 0) return;
    if (place.state === 'kept') place.idle = this.#clock.after(toolSessionIdleMs, () => this.#retire(key, place));
    else this.#end(place);
  }

  #retire(key: string, place: Place): void {
    place.state = 'retired';
    place.idle?.cancel();
    this.#forget(key, place);
    if (place.uses === 0) this.#end(place);
  }

  #forget(key: string, place: Place): void {
    if (this.#places.get(key) === place) this.#places.delete(key);
  }

  #evict(): void {
    for (const [key, place] of this.#places) {
      if (this.#places.size <= limits.providerOriginsMax) return;
      this.#retire(key, place);
    }
  }

  #end({ opened, state }: Place): void {
    if (state === 'lost') return;
    const ending = opened
      .then((result) => ('error' in result ? undefined : result.end()))
      .finally(() => this.#endings.delete(ending));
    this.#endings.add(ending);
  }

  /** Ends all sessions, within a bound. */
  async close(): Promise<void> {
    for (const [key, place] of this.#places) this.#retire(key, place);
    let timer: Timer | null = null;
    const bound = new Promise<void>((resolve) => (timer = this.#clock.after(toolSessionsEndMs, resolve)));
    await Promise.race([Promise.all(this.#endings), bound]);
    (timer as Timer | null)?.cancel();
  }
}

const keyOf = ({ workspaceId, url, headers }: ToolAccess): string =>
  createHash('sha256')
    .update(JSON.stringify([workspaceId, url, headers]))
    .digest('base64');
