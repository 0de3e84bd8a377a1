/** The services that handlers use; `main.ts` constructs them. */
import type { Clock } from './clock.ts';
import type { Config } from './config.ts';
import { Failure, type ErrorName } from './errors.ts';
import type { Host } from './host.ts';
import type { Ids } from './ids.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import type { LoadMeter } from './metrics/load.ts';
import type { Models } from './model.ts';
import type { Readiness } from './readiness.ts';
import type { SignIns } from './sign-ins.ts';
import type { StaticFile } from './static-files.ts';
import type { Store } from './store.ts';
import type { AddressThrottle, SignInThrottle } from './throttle.ts';
import type { TranscriptionTokens } from './transcription-tokens.ts';
import type { VisitorTokens } from './visitor-tokens.ts';
import type { Vault } from './vault.ts';
import type { VoiceDesk } from './voice/desk.ts';

export interface Services {
  readonly config: Config;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly metrics: Metrics;
  /** The last hour of all processes. */
  readonly load: Pick<LoadMeter, 'steps'>;
  readonly readiness: Pick<Readiness, 'look'>;
  readonly store: Store;
  readonly host: Host;
  readonly models: Models;
  readonly voice: VoiceDesk;
  readonly vault: Vault;
  readonly transcriptionTokens: TranscriptionTokens;
  readonly visitorTokens: VisitorTokens;
  readonly operatorToken: string;
  readonly signIns: SignIns;
  readonly failedAuthentications: AddressThrottle;
  readonly failedSignIns: SignInThrottle;
  /** The row of the error table that says why a provider's base URL must not be called; null if it may. */
  baseUrlProblem(url: string): ErrorName | null;
  /** The OpenAPI document. */
  openapi(): StaticFile;
  /** The AsyncAPI document of the transcription socket. */
  asyncapi(): StaticFile;
  /** True once the process must end: new work is refused, a repeat under an `Idempotency-Key` is answered. */
  draining: boolean;
}

/** What the service paths are answered from: a process's own services, or a supervisor's view of all its workers. */
export interface ServiceView {
  readonly draining: boolean;
  readonly readiness: Services['readiness'];
  readonly metrics: Pick<Metrics, 'text' | 'contentType'>;
}

/** The services that record each answer. */
export interface Recording extends Pick<Services, 'clock' | 'ids' | 'log'> {
  readonly config: Pick<Config, 'trustedProxies'>;
  readonly metrics: Pick<Metrics, 'requests' | 'limited'>;
  /** Absent on a port without authentication. */
  readonly failedAuthentications?: Services['failedAuthentications'];
}

/** The services that the service paths need on a port of their own. */
export type ServiceDesk = ServiceView & Recording;

/** The refusal of new work while the process drains (contract 11). */
export const refusedByDrain = (): Failure => new Failure('service_unavailable', { seconds: 5 });
