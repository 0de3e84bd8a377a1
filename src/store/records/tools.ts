/** The stored records of tools and of their calls (contract 13). */
import { limits } from '../../base/limits.ts';
import type { OpaqueFields } from '../../base/opaque-fields.ts';
import type { EntryStep, ToolError } from '../../base/tool-errors.ts';

export type { ToolError } from '../../base/tool-errors.ts';

/** A tool that assistants may use (contract 13). */
export interface Tool {
  readonly id: string;
  readonly workspaceId: string;
  readonly kind: 'http' | 'mcp' | 'client';
  readonly name: string;
  /** Null for `client`. */
  readonly url: string | null;
  readonly credentialId: string | null;
  readonly timeoutSeconds: number;
  readonly repeatable: boolean;
  readonly approval: 'never' | 'always';
  readonly show: ToolCall['show'];
  readonly callsPerMinute: number | null;
  readonly functions: readonly ToolFunction[];
  /** When the list of an MCP server was read last. */
  readonly refreshedAt: number | null;
  /** Reason for which the tool list could not be read the last time; absent if it was read. */
  readonly refreshError?: RefreshError;
  /** The secret that signs the requests of an `http` tool, sealed as a credential is; null for other kinds. */
  readonly sealed: Uint8Array | null;
  /** The secret that the last rotation replaced. */
  readonly previous?: ReplacedSecret | null;
  /**
   * Secrets that earlier rotations replaced, the newest first. Absent if empty: earlier versions keep
   * `previous` alone, and find it where they look.
   */
  readonly earlier?: readonly ReplacedSecret[];
  /** Switched off in the console: it is not offered, and no call is sent (contract 20). Absent: on. */
  readonly disabled?: true;
  /**
   * When it was deleted, in Unix seconds: versions of assistants still contain it. No draft can have it, and the console
   * does not show it. Absent for any other tool.
   */
  readonly deletedAt?: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Whether a tool is left to the versions that contain it. */
export const isDeleted = ({ deletedAt }: Pick<Tool, 'deletedAt'>): boolean => deletedAt !== undefined;

export interface RefreshError {
  /** Unix seconds. */
  readonly at: number;
  readonly step: EntryStep;
  readonly error: ToolError;
}

/** A signing secret that a rotation replaced. It signs too until `untilMs`. */
export interface ReplacedSecret {
  readonly sealed: Uint8Array;
  readonly untilMs: number;
}

/** The secrets that rotations replaced, the newest first. */
export const replacedSecrets = ({
  previous,
  earlier = [],
}: Pick<Tool, 'previous' | 'earlier'>): readonly ReplacedSecret[] => (previous ? [previous, ...earlier] : earlier);

/**
 * The secrets that sign still after a rotation, the newest first: the one that it replaces signs for a day, those before
 * for what is left of theirs.
 */
export const replacedBy = (
  sealed: Uint8Array | null | undefined,
  earlier: readonly ReplacedSecret[],
  nowMs: number,
): ReplacedSecret[] =>
  [
    ...(sealed ? [{ sealed, untilMs: nowMs + limits.secretOverlapMs }] : []),
    ...earlier.filter(({ untilMs }) => untilMs > nowMs),
  ].slice(0, limits.secretsReplacedMax);

/** The tool with these replaced secrets, the newest first. */
export function withReplacedSecrets(
  { previous: _, earlier: __, ...tool }: Tool,
  [previous, ...earlier]: readonly ReplacedSecret[],
): Tool {
  return { ...tool, ...(previous && { previous }), ...(earlier.length > 0 && { earlier }) };
}

export interface ToolFunction {
  readonly name: string;
  readonly description: string | null;
  /** A JSON Schema of an object. */
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly enabled: boolean;
  /** Null: the tool's. */
  readonly approval: Tool['approval'] | null;
  readonly show: Tool['show'] | null;
  /** The tool's name on the MCP server, if it differs. */
  readonly remoteName?: string;
  /** The provider that refuses its definition, and since when; absent where none does. */
  readonly quarantined?: Quarantine;
}

export interface Quarantine {
  /** Unix seconds. */
  readonly at: number;
  /** The provider's name in the console. */
  readonly provider: string;
  /** The provider's endpoint (see `OpaqueFields.origin`). */
  readonly origin: string;
}

/**
 * `running`: stored, without a result; `pending`: waits for `tool_results`; `unknown`: its process died before the
 * result was stored.
 */
export type ToolStatus = 'running' | 'pending' | 'completed' | 'failed' | 'declined' | 'cancelled' | 'unknown';

/** A model's call of a tool (contract 13). */
export interface ToolCall {
  readonly id: string;
  /** The character `_`, in a name that no tool has, replaces characters that no tool's name may have. */
  readonly name: string;
  /** The round of the model in its turn, from 0: the calls of a round are sent side by side. */
  readonly round: number;
  /** Code points of the message's text before it. */
  readonly position: number;
  readonly status: ToolStatus;
  /** Null while it has no result, and for one that completed. */
  readonly error: ToolError | 'declined' | 'cancelled' | 'unknown' | null;
  /** Null if the model gave no JSON object. */
  readonly arguments: Readonly<Record<string, unknown>> | null;
  readonly output: string | null;
  /** Reason for which the arguments do not fit, as sent to the model. Absent for every other error. */
  readonly reason?: string;
  /** The tool call failed, and the tool has certainly not acted. Absent if that is unknown. */
  readonly didNotAct?: true;
  /** The tool's own text about its failure, for the model alone. */
  readonly refusalText?: string;
  /** The fields that the provider added. Absent if empty, and in rows of versions that kept none. */
  readonly opaque?: OpaqueFields;
  /** Detail of the tool call that the API's callers see. */
  readonly show: 'none' | 'name' | 'full';
  /** The answer that it waits for, or waited for; absent where it waits for nobody. */
  readonly wants?: 'result' | 'approval';
  /** The tool call was sent to its tool. */
  readonly sent?: true;
  readonly createdAtMs: number;
  readonly endedAtMs: number | null;
}

/** Whether a call has a result, or will have none. */
export const hasEnded = ({ status }: ToolCall): boolean => status !== 'running' && status !== 'pending';

/**
 * Number of a message's tool calls that have ended: it lets a store distinguish a new step from a step that arrives
 * late or twice.
 */
export const endedCalls = ({ toolCalls = [] }: { readonly toolCalls?: readonly ToolCall[] }): number =>
  toolCalls.filter(hasEnded).length;

/** A call that waits for `tool_results`. */
export type PendingCall = Pick<ToolCall, 'id' | 'name' | 'arguments'> & { readonly wants: 'result' | 'approval' };

/**
 * The calls that a turn answered, approved or declined when it began. They are in an earlier message of its session.
 */
export interface AnsweredCalls {
  /** The message's index. */
  readonly index: number;
  readonly ids: readonly string[];
  /** The approved ones among them: this turn sends them. */
  readonly approved: readonly string[];
}
