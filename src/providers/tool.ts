/** The interface to an assistant's tools (contract 13). The kinds of tools are in `tool/`. */
import { codePoints, indexAfter } from '../base/text.ts';
import type { EntryStep, ToolError } from '../base/tool-errors.ts';
import type { ToolOffer } from './model.ts';

/** A function that a turn's model is offered. */
export interface OfferedFunction extends ToolOffer {
  /** Null for a function that the caller of part 14 offers. */
  readonly toolId: string | null;
  /** The caller runs a function of the kind `client`. */
  readonly kind: 'http' | 'mcp' | 'client';
  readonly approval: 'never' | 'always';
  readonly show: 'none' | 'name' | 'full';
  /** The provider that is known to refuse its definition (see `OpaqueFields.origin`); absent where none is. */
  readonly quarantined?: { readonly origin: string } | undefined;
}

/** The person of a conversation. */
export interface CallPerson {
  readonly visitor: Readonly<Record<string, string | number | boolean>>;
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * The conversation that a call is made for, as the tool is sent it; the model cannot change it. The ids are null for a
 * test in the console.
 */
export interface CallContext extends CallPerson {
  readonly workspaceId: string;
  readonly assistantId: string | null;
  readonly sessionId: string | null;
  readonly turnId: string | null;
  readonly channel: string;
  /** Statements of a visitor of the public link, which nothing proves; absent on other channels. */
  readonly claimed?: CallPerson;
}

export interface AskedCall {
  /** `call_…`: the same whenever the call is sent again. */
  readonly callId: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly context: CallContext;
  /**
   * Whether the call's turn still runs here: asked before the call is sent again. Absent where no turn makes the call.
   */
  stands?(): Promise<boolean>;
}

export interface FailedResult {
  readonly status: 'failed';
  readonly error: ToolError;
  /** The tool has certainly not acted. Absent where that is not known. */
  readonly didNotAct?: true;
  /** The tool's own text about its failure, for the model alone. */
  readonly refusalText?: string;
}

export type ToolResult =
  | { readonly status: 'completed'; readonly output: string }
  | FailedResult
  | { readonly status: 'cancelled' };

/** A function of a tool, with what the console has set. */
export interface ToolSettings extends ToolOffer {
  readonly enabled: boolean;
  readonly approval: OfferedFunction['approval'] | null;
  readonly show: OfferedFunction['show'] | null;
  /** Its name on the MCP server, where that is another one. */
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

/** A tool to be called, with all that a request to it needs. */
export interface ToolAccess {
  readonly workspaceId: string;
  readonly kind: 'http' | 'mcp';
  readonly url: string;
  readonly timeoutSeconds: number;
  /** Whether a call may be sent again after it may have reached the tool. */
  readonly repeatable: boolean;
  /** The secrets that sign a request to an HTTP tool, the newest first. */
  readonly secrets: readonly string[];
  /** Headers of its credential. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A function as a call names it. */
export type CalledFunction = Pick<ToolOffer, 'name' | 'parameters'>;

/** Sends calls to tools. */
export interface ToolCaller {
  /**
   * Sends a call, again where the contract says so, and resolves with its result. Never rejects. `called`: the
   * function, under its name at the tool. `signal`: the call is cancelled, and its connection closed.
   */
  call(tool: ToolAccess, called: CalledFunction, asked: AskedCall, signal: AbortSignal): Promise<ToolResult>;
  /** The list of an MCP server, or the step at which it could not be read. Never rejects. */
  list(tool: ToolAccess): Promise<ToolListing>;
  /** Ends sessions with tools, within a bound. */
  close(): Promise<void>;
}

/** The result of a call in the words of a model's history, where nobody knows it. */
export const unknownResult = 'The result of the call is not known. Whether the tool has acted is not known.';

const cutNote = '\n[The rest of this output was cut.]';

/** The beginning of an output, with a sentence that says that it is not all. */
export function cutOutput(output: string, pointsMax: number): string {
  if (codePoints(output) <= pointsMax) return output;
  return output.slice(0, indexAfter(output, Math.max(0, pointsMax - codePoints(cutNote)))) + cutNote;
}
