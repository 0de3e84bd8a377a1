/**
 * Sends calls to the tools of workspaces: with their secrets, their credentials and their calls per minute (contract
 * 13).
 */
import type { Clock } from '../base/clock.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { signingHolder, type Vault } from '../access/vault.ts';
import { maySendIn } from '../providers/tool/credential-header.ts';
import { checkArguments, argumentsText } from '../providers/tool/arguments.ts';
import type {
  ToolInvocation,
  ToolCallContext,
  InvokedFunction,
  OfferedFunction,
  ToolAccess,
  ToolInvoker,
  ToolListing,
  ToolResult,
} from '../providers/tool.ts';
import { isDeleted, replacedSecrets } from '../store/records/tools.ts';
import type { Store, Tool, ToolError } from '../store/store.ts';
import type { Credentials } from '../host/credentials.ts';
import type { ToolRecords } from '../host/tools.ts';

export interface ToolClientParts {
  readonly host: { readonly tools: ToolRecords; readonly credentials: Credentials };
  readonly store: Pick<Store, 'limits'>;
  readonly vault: Vault;
  readonly invoker: ToolInvoker;
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, 'toolCalls' | 'toolSeconds'>;
}

const minuteMs = 60_000;
/** No JSON. */
const tooDeep = 'too deep';

export class ToolClient {
  readonly #parts: ToolClientParts;

  constructor(parts: ToolClientParts) {
    this.#parts = parts;
  }

  /**
   * Admits a tool call: takes one from the tool's calls per minute, exact across processes, and resolves with null.
   * Otherwise counts the call and resolves with its error: `limit` if no call is left, `unknown_tool` if
   * the tool is gone or disabled, `refused` if the credential is gone or the secrets cannot be opened. Rejects with `StoreUnavailable`.
   */
  async admit(workspaceId: string, offered: OfferedFunction): Promise<ToolError | null> {
    const tool = await this.#toolOf(workspaceId, offered);
    return tool === null ? this.#counted('unknown_tool') : this.#admit(tool);
  }

  /**
   * The tool of a function: as the version that offers it defines it, with the tool's own credential and secrets; null
   * for a tool that is gone.
   */
  async #toolOf(workspaceId: string, { toolId, definition }: OfferedFunction): Promise<Tool | null> {
    const tool = toolId === null ? null : await this.#parts.host.tools.of(workspaceId, toolId);
    if (tool === null || definition === undefined) return tool !== null && isDeleted(tool) ? null : tool;
    const { url, timeoutSeconds, repeatable, callsPerMinute, functions } = definition;
    return { ...tool, url, timeoutSeconds, repeatable, callsPerMinute, functions: functions as Tool['functions'] };
  }

  async #admit(tool: Tool): Promise<ToolError | null> {
    const { store, clock } = this.#parts;
    if (tool.disabled) return this.#counted('unknown_tool');
    if ((await this.#accessOf(tool)) === null) return this.#counted('refused');
    if (tool.callsPerMinute === null) return null;
    const bucket = {
      kind: 'bucket',
      name: `tool/${tool.id}`,
      ceiling: tool.callsPerMinute,
      periodMs: minuteMs,
      cost: 1,
    } as const;
    const [taken] = await store.limits.take({ workspaceId: tool.workspaceId, asked: [bucket], nowMs: clock.now() });
    return taken!.passed ? null : this.#counted('limit');
  }

  /** Sends a call, and counts it. Never rejects. */
  call(offered: OfferedFunction, call: ToolInvocation, signal: AbortSignal): Promise<ToolResult> {
    return this.#timed(async () => {
      const tool = await this.#toolOf(call.context.workspaceId, offered);
      if (tool === null) return { status: 'failed', error: 'unreachable', didNotAct: true };
      // Somebody has switched it off since the call was admitted.
      if (tool.disabled) return { status: 'failed', error: 'unknown_tool', didNotAct: true };
      return this.#send(tool, offered, call, signal);
    });
  }

  /**
   * Sends one call outside any conversation, as a turn's would be: against the schema, within the calls per minute,
   * signed and guarded. Rejects with `StoreUnavailable`.
   */
  async test(
    tool: Tool,
    { name, parameters }: InvokedFunction,
    input: Readonly<Record<string, unknown>>,
    callId: string,
  ): Promise<ToolResult> {
    const checked = checkArguments(parameters, argumentsText(input) ?? tooDeep);
    if (checked === null) return { status: 'failed', error: this.#counted('arguments') };
    const error = await this.#admit(tool);
    if (error !== null) return { status: 'failed', error };
    const context: ToolCallContext = {
      workspaceId: tool.workspaceId,
      assistantId: null,
      sessionId: null,
      turnId: null,
      channel: 'console',
      signedVisitorId: null,
      visitor: {},
      metadata: {},
    };
    return this.#timed(() =>
      this.#send(tool, { name, parameters }, { callId, arguments: checked, context }, new AbortController().signal),
    );
  }

  async #timed(send: () => Promise<ToolResult>): Promise<ToolResult> {
    const { clock, metrics } = this.#parts;
    const startedAt = clock.monotonic();
    const result = await send().catch((): ToolResult => ({ status: 'failed', error: 'unreachable' }));
    metrics.toolCalls.inc({ outcome: result.status === 'failed' ? result.error : result.status });
    metrics.toolSeconds.observe((clock.monotonic() - startedAt) / 1000);
    return result;
  }

  async #send(
    tool: Tool,
    { name, parameters }: InvokedFunction,
    call: ToolInvocation,
    signal: AbortSignal,
  ): Promise<ToolResult> {
    const access = await this.#accessOf(tool);
    if (access === null) return { status: 'failed', error: 'refused', didNotAct: true };
    const remoteName = tool.functions.find((one) => one.name === name)?.remoteName ?? name;
    return this.#parts.invoker.invoke(access, { name: remoteName, parameters }, call, signal);
  }

  /** The list of an MCP server, or the step at which it could not be read. */
  async list(tool: Tool): Promise<ToolListing> {
    const access = await this.#accessOf(tool);
    return access === null ? { step: 'connect', error: 'refused' } : this.#parts.invoker.list(access);
  }

  /** Ends sessions with tools, within a bound. */
  close(): Promise<void> {
    return this.#parts.invoker.close();
  }

  /** Null for a tool that is not called from here, or whose credential or signing secret cannot be used. */
  async #accessOf(tool: Tool): Promise<ToolAccess | null> {
    const { workspaceId, kind, url, timeoutSeconds, repeatable } = tool;
    if (url === null || kind === 'client') return null;
    const secrets = kind === 'http' ? this.#secrets(tool) : [];
    const headers = await this.#credentialHeaders(tool);
    return headers === null || secrets === null
      ? null
      : { workspaceId, kind, url, timeoutSeconds, repeatable, headers, secrets };
  }

  /** Counts a call that is not sent. */
  noteUnsent(error: ToolError): void {
    this.#parts.metrics.toolCalls.inc({ outcome: error });
  }

  #counted(error: ToolError): ToolError {
    this.noteUnsent(error);
    return error;
  }

  /**
   * The secrets that sign, the newest first; null if the tool's own cannot be opened: a call is never sent unsigned.
   */
  #secrets(tool: Tool): string[] | null {
    const { vault, clock } = this.#parts;
    const holder = signingHolder(tool);
    const secret = tool.sealed && vault.open({ ...holder, sealed: tool.sealed });
    if (secret === null) return null;
    const replaced = replacedSecrets(tool)
      .filter(({ untilMs }) => untilMs > clock.now())
      .map(({ sealed }) => vault.open({ ...holder, sealed }));
    return [secret, ...replaced.filter((text) => text !== null)];
  }

  /**
   * The headers of the tool's credential, none where it names none; null if the credential is gone, of another kind,
   * for another origin, in a header that it may not be in, or cannot be opened.
   */
  async #credentialHeaders({ workspaceId, credentialId, url }: Tool): Promise<Record<string, string> | null> {
    const { host, vault } = this.#parts;
    if (credentialId === null) return {};
    const credential = await host.credentials.of(workspaceId, credentialId);
    if (credential?.kind !== 'tool' || url === null || !isAt(url, credential.baseUrl)) return null;
    const secret = vault.open(credential);
    if (secret === null || (credential.header != null && !maySendIn(credential.header))) return null;
    return credential.header ? { [credential.header.toLowerCase()]: secret } : { authorization: `Bearer ${secret}` };
  }
}

/** Whether a URL is at the origin of a credential's base URL. */
export const isAt = (url: string, baseUrl: string | null): boolean =>
  baseUrl !== null && URL.canParse(url) && URL.canParse(baseUrl) && new URL(url).origin === new URL(baseUrl).origin;
