/** A Redis without an append-only file loses acknowledged writes when it dies. */
import { StoreUnavailable } from '../store.ts';
import type { RedisLink } from './link.ts';
import { isQueryRefused, readConfig, hiddenConfig, volatile } from './server-config.ts';

/** Asks each primary. A primary that does not answer is ignored: a request that needs its slots finds out. */
export async function requireDurable(link: RedisLink): Promise<void> {
  const settings = await Promise.all(link.primaries().map((ask) => readConfig(ask, 'appendonly').catch(unlessRefused)));
  if (settings.every((setting) => setting === null || setting === 'yes')) return;
  throw new StoreUnavailable(
    `${volatile}: set appendonly yes and appendfsync everysec, or start with --allow-volatile.`,
  );
}

function unlessRefused(error: Error): null {
  if (isQueryRefused(error))
    throw new StoreUnavailable(
      `${hiddenConfig}: allow it, or start with --allow-volatile if the service keeps its data.`,
      { cause: error },
    );
  return null;
}
