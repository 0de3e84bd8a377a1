/**
 * Moves an installation from one store to another in a file: constructs the stores to export and to import, and carries
 * the secret for their contents.
 */
import type { Clock } from '../base/clock.ts';
import { SettingError, type Config } from '../base/config.ts';
import { makeDataFolder } from './data-folder.ts';
import { keepSecret, presentSecret } from './secrets.ts';
import type { DumpSource, DumpTarget } from '../store/dump.ts';

export { DumpRefused } from '../store/dump.ts';
export { exportTo } from './moving/export.ts';
export type { Exported } from './moving/export.ts';
export { importFrom } from './moving/import.ts';
export type { Imported } from './moving/import.ts';

/** The settings that a move needs. */
export type Moving = Pick<Config, 'store' | 'secret' | 'allowVolatile' | 'durability' | 'acceptLoss'>;

/** Each store's client is loaded only if it is used. */
export async function openSource({ store, acceptLoss }: Moving, clock: Clock): Promise<DumpSource> {
  if (store.kind === 'memory') throw ephemeral();
  if (store.kind === 'lmdb') {
    const [{ EmbeddedSource }, { LmdbSnapshot }] = await Promise.all([
      import('../store/embedded/dump.ts'),
      import('../store/lmdb/snapshot.ts'),
    ]);
    return new EmbeddedSource(new LmdbSnapshot(store.folder, { acceptLoss }));
  }
  const { RedisSource } = await import('../store/redis/dump.ts');
  return new RedisSource(store.url, { clock });
}

export async function openTarget({ store, allowVolatile, durability }: Moving, clock: Clock): Promise<DumpTarget> {
  if (store.kind === 'memory') throw ephemeral();
  if (store.kind === 'lmdb') {
    const [{ EmbeddedTarget }, { LmdbFilling }] = await Promise.all([
      import('../store/embedded/load.ts'),
      import('../store/lmdb/filling.ts'),
    ]);
    makeDataFolder(store.folder);
    return new EmbeddedTarget(new LmdbFilling(store.folder));
  }
  const { RedisTarget } = await import('../store/redis/load.ts');
  return new RedisTarget(store.url, {
    clock,
    allowVolatile,
    durability: durability === 'flushed' ? 'committed' : durability,
  });
}

const ephemeral = (): SettingError =>
  new SettingError('PARLEY_STORE is memory:, which ends with its process: there is nothing to move.');

/**
 * Writes the secret to a data folder that has none, so that a server started on it can open the imported credentials.
 */
export function leaveSecret({ store }: Moving, secret: string): void {
  if (store.kind === 'lmdb') keepSecret(store.folder, secret);
}

/** The installation's secret, without which its encrypted rows cannot be used. */
export function secretOf(config: Moving): string {
  const secret = presentSecret(config);
  if (secret !== null) return secret;
  const where = config.store.kind === 'lmdb' ? ` (there is no file "secret" in ${config.store.folder})` : '';
  throw new SettingError(`PARLEY_SECRET must be set to that of the installation's servers${where}.`);
}
