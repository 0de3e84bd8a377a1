/** Ids in rows: each is one that a server makes, since cursors, keys of the store and other rows are made of them. */
import type { IdPrefix } from '../../../base/ids.ts';
import { keyIdOf } from '../../../host/keys.ts';
import type { DumpRow } from '../../../store/dump.ts';
import type { ToolCall } from '../../../store/records.ts';

const made = /^([a-z]{2,4})_[0-9a-hjkmnp-tv-z]{26}$/;

const isId = (text: string, ...prefixes: readonly IdPrefix[]): boolean => prefixes.includes(made.exec(text)?.[1] as IdPrefix);

/** A field's path, its value and the prefixes that it may have; a value that is absent or null names nothing. */
type Named = readonly [path: string, id: string | null | undefined, ...prefixes: IdPrefix[]];

const callIds = (path: string, calls: readonly Pick<ToolCall, 'id'>[] | undefined): Named[] => (calls ?? []).map(({ id }, index): Named => [`${path}[${index}].id`, id, 'call']);

function idsOf(row: DumpRow): readonly Named[] {
  switch (row.type) {
    case 'workspace':
      return [['record.id', row.record.id, 'wks']];
    case 'assistant':
      return [['record.id', row.record.id, 'asst'], ['record.workspaceId', row.record.workspaceId, 'wks']];
    case 'credential':
      return [['record.id', row.record.id, 'crd'], ['record.workspaceId', row.record.workspaceId, 'wks']];
    case 'tool':
      return [['record.id', row.record.id, 'tool'], ['record.workspaceId', row.record.workspaceId, 'wks']];
    case 'key':
      return [['record.id', row.record.id, 'key'], ['record.workspaceId', row.record.workspaceId, 'wks']];
    case 'session':
      return idsOfSession(row);
    case 'history':
      return [['id', row.id, row.kind === 'session' ? 'ses' : row.kind === 'key' ? 'key' : 'asst'], ['workspaceId', row.workspaceId, 'wks'], ...row.moves.map(({ turn }, index): Named => [`moves[${index}].turn.turnId`, turn?.turnId, 'turn'])];
    case 'message':
      return [['workspaceId', row.workspaceId, 'wks'], ['sessionId', row.sessionId, 'ses'], ['record.id', row.record.id, 'msg'], ['record.turnId', row.record.turnId, 'turn'], ...callIds('record.toolCalls', row.record.toolCalls)];
    case 'turn':
      return [['workspaceId', row.workspaceId, 'wks'], ['record.id', row.record.id, 'turn'], ['record.sessionId', row.record.sessionId, 'ses'], ['record.messageId', row.record.messageId, 'msg'], ...callIds('flight.calls', row.flight?.calls)];
    case 'memory':
      return [['workspaceId', row.workspaceId, 'wks'], ['record.resultId', row.record.resultId, 'ses', 'turn']];
    case 'usage':
      return [['workspaceId', row.workspaceId, 'wks'], ['assistantId', row.assistantId, 'asst'], ['keyId', row.keyId, 'key']];
  }
}

function idsOfSession({ record, withdrawn }: DumpRow & { type: 'session' }): readonly Named[] {
  return [
    ['record.id', record.id, 'ses'], ['record.workspaceId', record.workspaceId, 'wks'], ['record.assistantId', record.assistantId, 'asst'], ['record.keyId', record.keyId, 'key'],
    ['record.link.visitorId', record.link?.visitorId, 'vis'], ['record.call.id', record.call?.id, 'call'], ['record.call.turnId', record.call?.turnId, 'turn'],
    ['withdrawn.turnId', withdrawn?.turnId, 'turn'], ...callIds('record.pending.calls', record.pending?.calls),
  ];
}

/** The path of the first id that no server makes; null if there is none. */
export function idProblem(row: DumpRow): string | null {
  const wrong = idsOf(row).find(([, id, ...prefixes]) => id != null && !isId(id, ...prefixes));
  if (wrong !== undefined) return wrong[0];
  // A key is found by its public id.
  return row.type === 'key' && row.record.id !== keyIdOf(row.record.publicId) ? 'record.publicId' : null;
}
