/** An import's progress; null if there never was one. */
import { StoreUnavailable } from '../store.ts';
import { unpackRow } from '../codec.ts';
import { importUnfinished } from '../dump.ts';
import type { DumpProgress } from '../dump.ts';
import type { Roots } from './keys.ts';
import type { RedisLink } from './link.ts';
import { bytesOfReply } from './reply.ts';

export async function progressOf(link: RedisLink, { importing }: Roots): Promise<DumpProgress | null> {
  const stored = await link.send(importing, 'GET', importing);
  return stored === null ? null : unpackRow<DumpProgress>(bytesOfReply(stored));
}

/** Throws if an import is unfinished: a store with only a part of an import must not serve. */
export async function refuseUnfinished(link: RedisLink, roots: Roots): Promise<void> {
  if ((await progressOf(link, roots))?.done === false) throw new StoreUnavailable(importUnfinished);
}
