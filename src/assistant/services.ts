/** The services that an assistant's model and tools use. */
import type { Vault } from '../access/vault.ts';
import type { Clock } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Log } from '../base/log.ts';
import type { Credentials } from '../host/credentials.ts';
import type { ToolRecords } from '../host/tools.ts';
import type { Models } from '../providers/model.ts';
import type { ModelHealth } from './model-health.ts';
import type { Session } from '../store/store.ts';
import type { ToolClient } from './tool-client.ts';

export interface AssistantServices {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly models: Models;
  readonly modelHealth: ModelHealth;
  readonly metrics: Pick<Metrics, 'modelFallbacks'>;
  readonly tools: Pick<ToolClient, 'admit' | 'call' | 'noteUnsent'>;
  readonly vault: Vault;
  /** The cached records of the workspace's catalog. */
  readonly host: {
    readonly credentials: Credentials;
    readonly tools: Pick<ToolRecords, 'functions' | 'change'>;
    readonly attendances: {
      /** Asks for a person on behalf of the model. */
      askOf(session: Pick<Session, 'workspaceId' | 'id'>, reason: string): Promise<void>;
    };
  };
}
