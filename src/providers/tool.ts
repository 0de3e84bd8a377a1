/** The interface to an assistant's tools (contract 13). The kinds of tools are in `tool/`. */
import { codePoints, indexAfter } from '../base/text.ts';
import type { Span } from '../base/tracing.ts';
import type { EntryStep, ToolError } from '../base/tool-errors.ts';
import type { ToolOffer } from './model.ts';

/** A function that a turn's model is offered. */
export interface OfferedFunction extends ToolOffer {
  /** Null for a function that the caller of part 14 offers. */
  readonly toolId: string | null;
  /** The caller runs a function of the kind `client`, the desk one of the kind `desk`. */
  readonly kind: 'http' | 'mcp' | 'client' | 'desk';
  readonly approval: 'never' | 'always';
  readonly show: 'none' | 'name' | 'full';
  /** Provider that refuses the function's definition (see `OpaqueFields.origin`); absent if all accept it. */
  readonly quarantined?: { readonly origin: string } | undefined;
  /** The tool as a version of the assistant defines it; absent for the tool as it is. */
  readonly definition?: ToolDefinition;
}

/** The part of a tool that a version of an assistant contains (contract 20). */
export interface ToolDefinition {
  readonly url: string | null;
  readonly timeoutSeconds: number;
  readonly repeatable: boolean;
  readonly callsPerMinute: number | null;
  readonly functions: readonly {
    readonly name: string;
    readonly remoteName?: string;
  }[];
}

/** The person of a conversation. */
export interface ToolCallPerson {
  readonly visitor: Readonly<Record<string, string | number | boolean>>;
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * Conversation of a tool call, as the tool receives it; the model cannot change it. The ids are null for a test in the
 * console.
 */
export interface ToolCallContext extends ToolCallPerson {
  readonly workspaceId: string;
  readonly assistantId: string | null;
  readonly sessionId: string | null;
  readonly turnId: string | null;
  readonly channel: string;
  /** The visitor, if the site has signed who that is; else null. */
  readonly signedVisitorId: string | null;
  /** Statements of a visitor of the public link, which nothing proves; absent on other channels. */
  readonly claimed?: ToolCallPerson;
}

export interface ToolInvocation {
  /** Id of the tool call, `call_…`: the same on every retry. */
  readonly callId: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly context: ToolCallContext;
  /**
   * Whether the turn of the tool call still runs here and may call tools, asked right before each try is written. Absent
   * for a tool call outside a turn.
   */
  readonly stands?: () => Promise<boolean>;
  /** The call's span, whose `traceparent` the tool receives; null while traces are off. */
  readonly span?: Span | null;
}

export interface FailedResult {
  readonly status: 'failed';
  readonly error: ToolError;
  /** Present if the tool has certainly not acted. */
  readonly didNotAct?: true;
  /** The tool's own text about its failure, for the model alone. */
  readonly refusalText?: string;
}

export type ToolResult =
  | { readonly status: 'completed'; readonly output: string }
  | FailedResult
  | { readonly status: 'cancelled' };

/** A function of a tool, with its settings from the console. */
export interface ToolSettings extends ToolOffer {
  readonly enabled: boolean;
  readonly approval: OfferedFunction['approval'] | null;
  readonly show: OfferedFunction['show'] | null;
  /** Name on the MCP server, if it differs. */
  readonly remoteName?: string;
}

/** A tool in the list of an MCP server. */
export interface ListedTool {
  readonly name: string;
  readonly description: string | null;
  /** Null if its schema is refused. */
  readonly parameters: Readonly<Record<string, unknown>> | null;
}

export type ToolListing =
  | { readonly tools: readonly ListedTool[] }
  | { readonly step: EntryStep; readonly error: ToolError };

/** A tool to be invoked, with all data that a request to it needs. */
export interface ToolAccess {
  readonly workspaceId: string;
  readonly kind: 'http' | 'mcp';
  readonly url: string;
  readonly timeoutSeconds: number;
  /** Whether a tool call may be sent again after it may have reached the tool. */
  readonly repeatable: boolean;
  /** The secrets that sign a request to an HTTP tool, the newest first. */
  readonly secrets: readonly string[];
  /** Headers of its credential. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A function as a tool call names it. */
export type InvokedFunction = Pick<ToolOffer, 'name' | 'parameters'>;

/** Sends tool calls to their tools. */
export interface ToolInvoker {
  /**
   * Sends a tool call, with retries where the contract allows them, and resolves with its result. Never rejects.
   * `invoked`: the function, under its name at the tool. `signal`: cancels the tool call and closes its connection.
   */
  invoke(
    tool: ToolAccess,
    invoked: InvokedFunction,
    invocation: ToolInvocation,
    signal: AbortSignal,
  ): Promise<ToolResult>;
  /** Lists the tools of an MCP server, or returns the step that failed. Never rejects. */
  list(tool: ToolAccess): Promise<ToolListing>;
  /** Ends sessions with tools, within a bound. */
  close(): Promise<void>;
}

/** Result of a tool call in a model's history if it is unknown. */
export const unknownResult = 'The result of the call is not known. Whether the tool has acted is not known.';

const cutNote = '\n[The rest of this output was cut.]';

/** Shortens an output and appends a sentence that says so. */
export function cutOutput(output: string, pointsMax: number): string {
  if (codePoints(output) <= pointsMax) return output;
  return output.slice(0, indexAfter(output, Math.max(0, pointsMax - codePoints(cutNote)))) + cutNote;
}
