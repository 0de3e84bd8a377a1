/** The counts of an assistant's versions and of its candidate: fields of the hash of its release. */
import type { ReleaseRow } from '../dump.ts';
import type { ReleaseCounts, VersionCounts } from '../store.ts';
import { versionCountsOf, versionCountsRow } from '../releases.ts';
import { part, type Roots } from './keys.ts';
import type { RedisLink } from './link.ts';
import { textOfReply, listOfReply } from './reply.ts';

const countsPrefix = 'counts/';

/** Reads the fields by name, because the hash has a whole record as well. */
export async function readReleaseCounts(
  link: RedisLink,
  roots: Roots,
  workspaceId: string,
  assistantId: string,
): Promise<ReleaseCounts> {
  const key = `${roots.workspace(workspaceId)}:release:${part(assistantId)}`;
  const names = listOfReply(await link.send(key, 'HKEYS', key))
    .map(textOfReply)
    .filter((name) => name.startsWith(countsPrefix));
  const fields = listOfReply(await link.send(key, 'HMGET', key, 'turns', 'failed', ...names));
  const [turns, failedTurns, ...counts] = fields.map((field) => (field === null ? '0' : textOfReply(field)));
  const versions = new Map<number, VersionCounts>();
  for (const [index, name] of names.entries())
    versions.set(Number(name.slice(countsPrefix.length)), versionCountsOf(counts[index]!.split(',').map(Number)));
  return { candidate: { turns: Number(turns), failedTurns: Number(failedTurns) }, versions };
}

/** The counts of an export as fields of the hash. */
export const countsOfRelease = ({ since, candidate, versions }: ReleaseRow): (string | number)[] => [
  ...['since', since, 'turns', candidate.turns, 'failed', candidate.failedTurns],
  ...versions.flatMap(({ number, ...counts }) => [`${countsPrefix}${number}`, versionCountsRow(counts).join(',')]),
];
