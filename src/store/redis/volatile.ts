/** A Redis without an append-only file loses acknowledged writes when it dies. */
import { StoreUnavailable } from '../../store.ts';
import type { Roots } from './keys.ts';
import type { Link } from './link.ts';
import { settingOf, unaskable, volatile } from './setting.ts';

export async function refuseVolatile(link: Link, roots: Roots): Promise<void> {
  let setting: string;
  try {
    setting = await settingOf((...words) => link.send(roots.registry, ...words), 'appendonly');
  } catch (error) {
    throw new StoreUnavailable(`${unaskable}: allow it, or start with --allow-volatile if the service keeps its data.`, { cause: error });
  }
  if (setting === 'yes') return;
  throw new StoreUnavailable(`${volatile}: set appendonly yes and appendfsync everysec, or start with --allow-volatile.`);
}
