/** The services that handlers use; `main.ts` constructs them. */
import type { ModelHealth } from '../assistant/model-health.ts';
import type { Clock } from '../base/clock.ts';
import type { Config } from '../base/config.ts';
import { Failure, type ErrorName } from '../base/errors.ts';
import type { Host } from '../host.ts';
import type { Ids } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { LoadMeter } from '../metrics/load.ts';
import type { IdentityProvider } from '../providers/identity.ts';
import type { Models } from '../providers/model.ts';
import type { Readiness } from '../store/readiness.ts';
import type { BegunSignIns } from '../access/begun-sign-ins.ts';
import type { SignIns } from '../access/sign-ins.ts';
import type { StaticFile } from '../base/static-files.ts';
import type { AuditEntry, Store, TestRun } from '../store/store.ts';
import type { AddressThrottle, SignInThrottle } from '../access/throttle.ts';
import type { SocketTokens } from '../access/socket-tokens.ts';
import type { VisitorTokens } from '../access/visitor-tokens.ts';
import type { Vault } from '../access/vault.ts';
import type { Tracer } from '../base/tracing.ts';
import type { Voices } from '../providers/voice/voices.ts';
import type { ToolClient } from '../assistant/tool-client.ts';

export interface Services {
  readonly config: Config;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Null while traces are off. */
  readonly tracer: Tracer | null;
  /** The last hour of all processes. */
  readonly load: Pick<LoadMeter, 'steps'>;
  readonly readiness: Pick<Readiness, 'isReady'>;
  readonly store: Store;
  readonly host: Host;
  readonly models: Models;
  readonly modelHealth: ModelHealth;
  readonly voice: Voices;
  readonly tools: ToolClient;
  /** The deliveries of events to webhooks. */
  readonly webhooks: { wake(): void; stop(graceMs: number): Promise<void> };
  /** The runs of tests of assistants. */
  readonly testRuns: {
    wake(): void;
    stop(): Promise<void>;
    cancel(run: TestRun, audit: (before: TestRun, after: TestRun) => AuditEntry | undefined): Promise<TestRun | null>;
  };
  readonly vault: Vault;
  readonly transcriptionTokens: SocketTokens;
  readonly callTokens: SocketTokens;
  readonly visitorTokens: VisitorTokens;
  readonly operatorToken: string;
  readonly signIns: SignIns;
  /** The sign-in by OpenID Connect; null without one. */
  readonly oidc: { readonly provider: IdentityProvider; readonly begun: BegunSignIns } | null;
  readonly failedAuthentications: AddressThrottle;
  readonly failedSignIns: SignInThrottle;
  /** Reads of public links. */
  readonly linkReads: AddressThrottle;
  /** The row of the error table that says why a provider's base URL must not be called; null if it may. */
  baseUrlProblem(url: string): ErrorName | null;
  /** The OpenAPI document. */
  openapi(): StaticFile;
  /** The AsyncAPI document of the transcription socket. */
  asyncapi(): StaticFile;
  /** True once the process must end: new work is refused, a repeat under an `Idempotency-Key` is answered. */
  draining: boolean;
}

/** The services that the service paths need: a process's own, or a supervisor's view of all its workers. */
export interface ServiceView {
  readonly draining: boolean;
  readonly readiness: Services['readiness'];
  readonly metrics: Pick<Metrics, 'text' | 'contentType'>;
}

/** The services that record each answer. */
export interface Recording extends Pick<Services, 'clock' | 'ids' | 'log'> {
  readonly config: Pick<Config, 'trustedProxies'>;
  readonly metrics: Pick<Metrics, 'requests' | 'limited'>;
  /** Null while traces are off, absent on a port without authentication. */
  readonly tracer?: Services['tracer'];
  /** Both absent on a port without authentication. */
  readonly failedAuthentications?: Services['failedAuthentications'];
  readonly signIns?: Services['signIns'];
}

/** The services that the service paths need on a separate port. */
export type ServiceDesk = ServiceView & Recording;

/** The refusal of new work while the process drains (contract 11). */
export const refusedByDrain = (): Failure => new Failure('service_unavailable', { seconds: 5 });
