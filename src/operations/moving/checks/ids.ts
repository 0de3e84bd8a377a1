/** Ids in rows: each is one that a server makes, since cursors, keys of the store and other rows are made of them. */
import type { IdPrefix } from '../../../base/ids.ts';
import { keyIdOf } from '../../../host/keys.ts';
import type { DumpRow } from '../../../store/dump.ts';
import { installation } from '../../../store/records.ts';
import { auditOfWorkspaces } from '../../../store/records/audit.ts';
import { ownIdOf, testKey } from '../../../store/records/tests.ts';
import { versionId } from '../../../store/records/versions.ts';

const made = /^([a-z]{2,4})_[0-9a-hjkmnp-tv-z]{26}$/;

/** A field's path, its value and the prefixes that it may have; a value that is absent or null names nothing. */
type Named = readonly [path: string, id: string | null | undefined, ...prefixes: IdPrefix[]];
type Row<Type extends DumpRow['type']> = DumpRow & { readonly type: Type };

const callIds = (path: string, calls: readonly { readonly id: string }[] = []): Named[] =>
  calls.map(({ id }, index): Named => [`${path}[${index}].id`, id, 'call']);

interface Held {
  readonly id: string;
  readonly workspaceId: string;
}

/** The ids of a record of a workspace. */
const recordIds = ({ record }: { readonly record: Held }, prefix: IdPrefix): Named[] => [
  ['record.id', record.id, prefix],
  ['record.workspaceId', record.workspaceId, 'wks'],
];

const sessionIds = ({ record, withdrawn }: Row<'session'>): Named[] => [
  ['record.assistantId', record.assistantId, 'asst'],
  ['record.keyId', record.keyId, 'key'],
  ['record.link.visitorId', record.link?.visitorId, 'vis'],
  ['record.call.id', record.call?.id, 'call'],
  ['record.call.turnId', record.call?.turnId, 'turn'],
  ['withdrawn.turnId', withdrawn?.turnId, 'turn'],
  ...callIds('record.pending.calls', record.pending?.calls),
];

const actorPrefixes = { session: 'ses', key: 'key', assistant: 'asst' } as const;

const historyIds = ({ id, kind, moves }: Row<'history'>): Named[] => [
  ['id', id, actorPrefixes[kind]],
  ...moves.map(({ turn }, index): Named => [`moves[${index}].turn.turnId`, turn?.turnId, 'turn']),
];

const messageIds = ({ sessionId, record }: Row<'message'>): Named[] => [
  ['sessionId', sessionId, 'ses'],
  ['record.id', record.id, 'msg'],
  ['record.turnId', record.turnId, 'turn'],
  ...callIds('record.toolCalls', record.toolCalls),
];

const turnIds = ({ record, flight }: Row<'turn'>): Named[] => [
  ['record.id', record.id, 'turn'],
  ['record.sessionId', record.sessionId, 'ses'],
  ['record.messageId', record.messageId, 'msg'],
  ...callIds('flight.calls', flight?.calls),
];

/** Checks the place of a row: a workspace, or one of the two places outside of workspaces. */
const auditIds = ({ record }: Row<'audit'>): Named[] => [
  ['record.id', record.id, 'aud'],
  ['record.workspaceId', isOutside(record.workspaceId) ? null : record.workspaceId, 'wks'],
  ['record.inWorkspaceId', record.inWorkspaceId, 'wks'],
];

const isOutside = (place: string): boolean => place === installation || place === auditOfWorkspaces;

function idsOf(row: DumpRow): Named[] {
  switch (row.type) {
    case 'workspace':
      return [['record.id', row.record.id, 'wks']];
    case 'assistant':
      return recordIds(row, 'asst');
    case 'assistant_version':
      return [
        ['record.assistantId', row.record.assistantId, 'asst'],
        ['record.workspaceId', row.record.workspaceId, 'wks'],
      ];
    case 'assistant_test':
      return [
        ['record.assistantId', row.record.assistantId, 'asst'],
        ['record.workspaceId', row.record.workspaceId, 'wks'],
        ['record.id', ownIdOf(row.record), 'tst'],
        ['record.fromSessionId', row.record.fromSessionId, 'ses'],
      ];
    case 'credential':
      return recordIds(row, 'crd');
    case 'tool':
      return recordIds(row, 'tool');
    case 'webhook':
      return recordIds(row, 'whk');
    case 'key':
      return recordIds(row, 'key');
    case 'session':
      return [...recordIds(row, 'ses'), ...sessionIds(row)];
    case 'history':
      return historyIds(row);
    case 'message':
      return messageIds(row);
    case 'turn':
      return turnIds(row);
    case 'memory':
      return [['record.resultId', row.record.resultId, 'ses', 'turn']];
    case 'release':
      return [['assistantId', row.assistantId, 'asst']];
    case 'usage':
      return [
        ['assistantId', row.assistantId, 'asst'],
        ['keyId', row.keyId, 'key'],
      ];
    case 'delivery':
      return [
        ...recordIds(row, 'dlv'),
        ['record.webhookId', row.record.webhookId, 'whk'],
        ['record.sessionId', row.record.sessionId, 'ses'],
        ['record.sourceId', row.record.sourceId, 'turn', 'ses', 'msg'],
      ];
    case 'audit':
      return auditIds(row);
  }
}

/**
 * The path of the first id that no server makes, or null. The position of a row determines its workspace.
 */
export function idProblem(row: DumpRow): string | null {
  const isMade = (id: string, prefixes: readonly IdPrefix[]): boolean =>
    prefixes.includes(made.exec(id)?.[1] as IdPrefix);
  const wrong = idsOf(row).find(([, id, ...prefixes]) => id != null && !isMade(id, prefixes));
  if (wrong !== undefined) return wrong[0];
  // A version is found by its assistant and its number.
  if (row.type === 'assistant_version')
    return row.record.id === versionId(row.record.assistantId, row.record.number) ? null : 'record.id';
  if (row.type === 'assistant_test' && row.record.id !== testKey(row.record.assistantId, ownIdOf(row.record)))
    return 'record.id';
  // A key is found by its public id.
  return row.type === 'key' && row.record.id !== keyIdOf(row.record.publicId) ? 'record.publicId' : null;
}
