/**
 * Checks rows of a file beyond their shape, as the API checks a request: an imported row must not hold what no request
 * could have stored. A row that breaks a rule is refused with one sentence, which names the row and its field.
 */
import type { DumpRow } from '../../store/dump.ts';
import { conversationProblem } from './checks/conversation.ts';
import { idProblem } from './checks/ids.ts';
import { machineProblem, movesProblem } from './checks/machines.ts';
import { settingsProblem } from './checks/settings.ts';

/** JSON that is nested more deeply is no row: what comes later would need a stack as deep. */
const nestingMax = 256;

/** Returns the path of the first field that breaks a rule; null if none does. */
function wrongField(row: DumpRow): string | null {
  if (isDeeper(row, nestingMax)) return 'record';
  // The settings are looked at as the API shows them, which takes a state that the machine has.
  return idProblem(row) ?? machineProblem(row) ?? settingsProblem(row) ?? conversationProblem(row) ?? movesProblem(row);
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeper(item, levels - 1));
}

/** A row's kind and id, as a sentence names it. */
export function nameOf(row: DumpRow): string {
  if (row.type === 'history') return `history of the ${row.kind} ${row.id}`;
  if (row.type === 'usage') return `usage of the assistant ${row.assistantId}`;
  if (row.type === 'release') return `counts of the assistant ${row.assistantId}`;
  return row.type === 'memory' ? `remembered request for ${row.record.resultId}` : `${row.type} ${row.record.id}`;
}

/** The rest of a sentence that says what is wrong with a row; null if nothing is. `order` knows the rows before it. */
export function rowProblem(row: DumpRow, order: RowOrder): string | null {
  const field = wrongField(row);
  if (field === null) return order.problemOf(row);
  return `\`${field}\` of the ${nameOf(row)} has the wrong type or a value that is not allowed`;
}

/**
 * The place of a row among those before it: each follows its workspace, session or actor, and no workspace comes twice.
 */
export class RowOrder {
  readonly #workspaces = new Set<string>();
  #workspace: string | null = null;
  #session: string | null = null;
  /** The row before, if it can have a history. */
  #actor: string | null = null;

  /** The rest of a sentence that says what is wrong with the row's place; null if nothing is. */
  problemOf(row: DumpRow): string | null {
    const problem = this.#problemOf(row);
    this.#note(row);
    return problem;
  }

  #problemOf(row: DumpRow): string | null {
    if (row.type === 'workspace')
      return this.#workspaces.has(row.record.id) ? `the ${nameOf(row)} is in the file twice` : null;
    const workspaceId = 'workspaceId' in row ? row.workspaceId : row.record.workspaceId;
    // The audit of workspaces, of people and of removed workspaces follows none.
    if (row.type === 'audit' && !this.#workspaces.has(workspaceId)) return null;
    if (workspaceId !== this.#workspace) return `the ${nameOf(row)} does not follow its workspace ${workspaceId}`;
    const session = row.type === 'message' ? row.sessionId : row.type === 'turn' ? row.record.sessionId : null;
    if (session !== null && session !== this.#session)
      return `the ${nameOf(row)} does not follow its session ${session}`;
    return row.type === 'history' && `${row.kind} ${row.id}` !== this.#actor
      ? `the ${nameOf(row)} does not follow it`
      : null;
  }

  #note(row: DumpRow): void {
    const isActor = row.type === 'assistant' || row.type === 'key' || row.type === 'session';
    this.#actor = isActor ? `${row.type} ${row.record.id}` : null;
    if (row.type === 'session') this.#session = row.record.id;
    if (row.type !== 'workspace') return;
    this.#workspaces.add(row.record.id);
    this.#workspace = row.record.id;
    this.#session = null;
  }
}
