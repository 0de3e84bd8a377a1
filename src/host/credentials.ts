/** Credentials of workspaces, cached (see `CatalogCache`). */
import { Mailbox } from '../actors/mailbox.ts';
import type { Clock } from '../base/clock.ts';
import type { Catalog } from '../store/store.ts';
import { CatalogCache } from './catalog-cache.ts';

/** Credentials that a process keeps. */
export const credentialsKeptMax = 10_000;

export class Credentials extends CatalogCache<'credential'> {
  /** Runs changes one at a time. */
  readonly changes = new Mailbox();

  constructor(catalog: Pick<Catalog, 'read'>, clock: Clock) {
    super('credential', catalog, clock, credentialsKeptMax);
  }
}
