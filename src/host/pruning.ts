/** The versions of an assistant that a new one drops: 200 are kept besides those in use (contract 20). */
import { limits } from '../base/limits.ts';
import { versionId } from '../store/records/versions.ts';
import type { Assistant, AssistantVersion, Page, Release, Session, Store } from '../store/store.ts';

/**
 * The ids of the versions to drop with a change that makes one. Versions in use before the change stay: a session may
 * be created on one while this reads the sessions.
 */
export async function versionsToDrop(
  { catalog, sessions }: Pick<Store, 'catalog' | 'sessions'>,
  before: Assistant,
  after: Assistant,
): Promise<string[]> {
  if ((after.release?.newest ?? 0) <= limits.versionsKept) return [];
  const stored = await numbersOf(catalog, after);
  if (droppedOf(stored, inUse(after.release)).length === 0) return [];
  const used = [...inUse(after.release), ...(await ofOpenSessions(sessions, after))];
  const kept = inUse(before.release);
  return droppedOf(stored, used)
    .filter((number) => !kept.includes(number))
    .map((number) => versionId(after.id, number));
}

/** The oldest of the versions that are not in use, beyond those that are kept. */
const droppedOf = (stored: readonly number[], used: readonly number[]): number[] =>
  stored
    .filter((number) => !used.includes(number))
    .toSorted((one, other) => other - one)
    .slice(limits.versionsKept);

const inUse = (release: Release | null | undefined): number[] =>
  release == null ? [] : [release.current, ...(release.candidate ? [release.candidate.version] : [])];

/** The numbers of the stored versions. */
async function numbersOf(catalog: Store['catalog'], { id, workspaceId }: Assistant): Promise<number[]> {
  const numbers: number[] = [];
  for (let after: string | null = versionId(id, 0); after !== null;) {
    const page: Page<AssistantVersion> = await catalog.list('assistant_version', workspaceId, {
      limit: limits.listMax,
      after,
      order: 'asc',
    });
    const own = page.items.filter(({ assistantId }) => assistantId === id);
    numbers.push(...own.map(({ number }) => number));
    after = own.length === page.items.length ? page.next : null;
  }
  return numbers;
}

/** The versions that open sessions of the assistant are on. */
async function ofOpenSessions(sessions: Store['sessions'], { id, workspaceId }: Assistant): Promise<Set<number>> {
  const versions = new Set<number>();
  const filter = { assistantIds: [id], status: 'open', activeSince: 0, now: 0 } as const;
  for (let after: string | null = null, more = true; more;) {
    const page: Page<Session> = await sessions.list(workspaceId, filter, {
      limit: limits.listMax,
      after,
      order: 'asc',
    });
    for (const { channel, assistantVersion = 1 } of page.items)
      if (channel !== 'console') versions.add(assistantVersion);
    after = page.next;
    more = after !== null;
  }
  return versions;
}
