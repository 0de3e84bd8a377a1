/**
 * Ends a process: drains it after a signal or at its supervisor's request, or ends it at once after a second signal
 * (contract 11).
 */
import type { Clock } from '../base/clock.ts';
import type { Edge } from '../base/edge.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import type { ProviderHttp } from '../providers/client.ts';
import type { Services } from '../conversation/services.ts';
import { onEndingSignal } from '../base/signals.ts';
import type { SupervisorLine } from './supervisor/worker.ts';

/** Milliseconds for clients of a leaving worker to send the request that closes their connection. */
const workerRetireMs = 2_000;

export interface House {
  readonly services: Services;
  readonly edge: Edge;
  /** The service paths' separate port; null without one, or if a supervisor has it. */
  readonly service: Edge | null;
  readonly http: ProviderHttp;
  readonly log: Log;
  readonly clock: Clock;
  /** Null if the process has no supervisor. */
  readonly supervisor: SupervisorLine | null;
}

export function endInOrder(house: House): void {
  const { clock, edge, log, services, supervisor } = house;
  let ending = false;
  const end = (): void => {
    if (ending) return;
    ending = true;
    drain(house).then(
      () => process.exit(0),
      (error) => {
        log.error({ err: error }, 'The drain failed.');
        process.exit(1);
      },
    );
  };
  const retire = (): void => {
    log.info('retiring');
    // A timer runs after the event loop has accepted waiting connections: those that still wait when a listener closes
    // are reset.
    clock.after(0, () => edge.stopListening());
    clock.after(workerRetireMs, end);
  };
  onEndingSignal(clock, end, () => process.exit(1));
  supervisor?.announceListening({
    drain: end,
    retire,
    isReady: async () => !services.draining && services.readiness.isReady(),
    measure: () => services.metrics.samples(),
  });
}

/** Ends the process without a drain: it may store nothing any more, so it may answer nothing. */
export function endAtOnce({ message }: Error, log: Log): never {
  log.fatal(message);
  process.stderr.write(`${message} This process ends.\n`);
  process.exit(1);
}

/** Refuses new work, lets turns in flight finish for `drainMs`, seals the rest as partial, then closes. */
async function drain({ services, edge, service, http, log, clock, supervisor }: House): Promise<void> {
  services.draining = true;
  log.info({ turns: services.host.turns.inFlight }, 'draining');
  // Sockets are not waited for: a client opens another one elsewhere (contract 8). A call ends with the reply that it
  // speaks, which is a turn in flight.
  services.host.sockets.drain();
  services.host.calls.drain();
  services.host.feed.drain();
  const runs = services.testRuns.stop();
  await services.host.turns.drain(limits.drainMs, sealGraceMs);
  await runs;
  await edge.close(closeGraceMs);
  await services.webhooks.stop(attemptGraceMs);
  services.host.close();
  services.voice.close();
  await services.tools.close();
  await http.close();
  await services.signIns.close();
  await services.tracer?.close();
  await services.store.close();
  await supervisor?.leave();
  await service?.close(closeGraceMs);
  clock.stop();
  log.info('ended');
  await new Promise<void>((resolve) => log.flush(() => resolve()));
}

/** Milliseconds that a store may take to seal the stopped turns. */
const sealGraceMs = 5000;

/** Milliseconds that attempts to deliver events may take after that. */
const attemptGraceMs = 5000;

/** Milliseconds that open responses may take after every turn has ended. */
const closeGraceMs = 2000;
