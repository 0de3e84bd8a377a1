/** Enters an MCP server: probes its era, and shakes hands with one of the legacy era (MCP 2025-11-25, lifecycle). */
import type { Clock } from '../../../base/clock.ts';
import type { EntryStep } from '../../../base/tool-errors.ts';
import type { ProviderHttp } from '../../client.ts';
import type { ToolAccess } from '../../tool.ts';
import { addressOf } from '../sending.ts';
import { McpConnection } from './connection.ts';
import { exchange, type Exchange, type Outcome } from './exchange.ts';
import { afterInitialize, afterProbe, failureAt, redirectedPath, type EntryFailure } from './handshake.ts';
import { discoverRequest, initializeRequest, legacyVersions, type McpMessage, type Protocol } from './messages.ts';

/** Milliseconds of silence after `server/discover` or `notifications/initialized`. */
const toolProbeMs = 5_000;

const redirectsMax = 3;

export class McpEntry {
  /** Current step. */
  step: EntryStep = 'connect';
  readonly #http: ProviderHttp;
  readonly #clock: Clock;
  readonly #tool: ToolAccess;
  readonly #until: number;
  #path: string;
  #redirects = 0;
  #lastId = 0;

  constructor(http: ProviderHttp, clock: Clock, tool: ToolAccess) {
    this.#http = http;
    this.#clock = clock;
    this.#tool = tool;
    this.#path = addressOf(tool).path;
    this.#until = clock.monotonic() + tool.timeoutSeconds * 1000;
  }

  /** Opens the server. Never rejects. `isLegacy`: the server's era is known, so it is not probed. */
  async run(isLegacy: boolean): Promise<McpConnection | EntryFailure> {
    const probe = async (): Promise<ReturnType<typeof afterProbe>> =>
      afterProbe(await this.#send('probe', discoverRequest, Math.min(toolProbeMs, this.#left / 2)));
    let probed = isLegacy ? 'initialize' : await probe();
    if (probed === 'probe') probed = await probe();
    if (typeof probed === 'object') return this.#ended(probed);
    let offered: string = legacyVersions[0];
    for (let offers = 1; ; offers++) {
      const outcome = await this.#send('initialize', (id) => initializeRequest(id, offered), this.#left);
      const shaken = afterInitialize(outcome, offered);
      if (!('offer' in shaken)) return this.#ended(shaken);
      if (offers === legacyVersions.length) return failureAt('initialize', outcome);
      offered = shaken.offer;
    }
  }

  async #ended(result: Protocol | EntryFailure): Promise<McpConnection | EntryFailure> {
    if ('error' in result) return result;
    const connection = new McpConnection(this.#http, this.#tool, result, this.#path);
    const told = connection.initialized();
    // Some servers refuse the notification or do not respond; the next request shows whether that matters.
    if (told !== null) await this.#within(told, Math.min(toolProbeMs, this.#left));
    return connection;
  }

  /** Sends a message of the handshake, and follows redirects within the origin. */
  async #send(step: EntryStep, message: (id: number) => McpMessage, withinMs: number): Promise<Outcome> {
    this.step = step;
    const until = this.#clock.monotonic() + withinMs;
    for (;;) {
      const outcome = await this.#within(
        exchange(this.#http, this.#tool, message(++this.#lastId), { path: this.#path }),
        until - this.#clock.monotonic(),
      );
      const path = redirectedPath(outcome, new URL(this.#path, this.#tool.url).href);
      if (path === null || ++this.#redirects > redirectsMax) return outcome;
      this.#path = path;
    }
  }

  async #within(sent: Exchange, ms: number): Promise<Outcome> {
    const timer = this.#clock.after(Math.max(1, ms), () => sent.cut());
    const outcome = await sent.outcome;
    timer.cancel();
    return outcome;
  }

  get #left(): number {
    return Math.max(1, this.#until - this.#clock.monotonic());
  }
}
