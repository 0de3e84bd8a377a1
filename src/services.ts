/** What handlers work with; `main.ts` puts it together. */
import type { Clock } from './clock.ts';
import type { Config } from './config.ts';
import type { Host } from './host.ts';
import type { Ids } from './ids.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import type { Models } from './model.ts';
import type { Store } from './store.ts';
import type { Vault } from './vault.ts';

export interface Services {
  readonly config: Config;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly store: Store;
  readonly host: Host;
  readonly models: Models;
  readonly vault: Vault;
  readonly operatorToken: string;
  /** Why a provider's base URL may not be called; null if it may. */
  baseUrlProblem(url: string): string | null;
  /** The OpenAPI document as JSON text. */
  openapi(): string;
  /** True once the process was asked to end: new work is refused. */
  draining: boolean;
}
