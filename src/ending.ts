/** How a process ends: drained after a signal or at its supervisor's word, at once when somebody insists (contract 11). */
import type { Clock } from './clock.ts';
import type { Edge } from './edge.ts';
import { limits } from './limits.ts';
import type { Log } from './log.ts';
import type { ProviderHttp } from './model/http.ts';
import type { Services } from './services.ts';
import { onEndingSignal } from './signals.ts';
import type { SupervisorLine } from './supervisor/worker.ts';

export interface House {
  readonly services: Services;
  readonly edge: Edge;
  readonly http: ProviderHttp;
  readonly log: Log;
  readonly clock: Clock;
  /** Null where one process serves alone. */
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
        log.error({ err: error }, 'drain failed');
        process.exit(1);
      },
    );
  };
  const retire = (): void => {
    log.info('retiring');
    // A timer runs once the event loop has accepted what waited: what waits when a listener closes is reset.
    clock.after(0, () => edge.stopListening());
    clock.after(limits.workerRetireMs, end);
  };
  onEndingSignal(clock, end, () => process.exit(1));
  supervisor?.listening({ drain: end, retire, measure: () => services.metrics.samples() });
}

/** Refuses new work, lets turns in flight finish for `drainMs`, seals the rest as partial, then closes. */
async function drain({ services, edge, http, log, clock, supervisor }: House): Promise<void> {
  services.draining = true;
  log.info({ turns: services.host.turns.inFlight }, 'draining');
  await services.host.turns.drain(limits.drainMs, sealGraceMs);
  await edge.close(closeGraceMs);
  services.host.close();
  await http.close();
  await services.store.close();
  await supervisor?.leave();
  clock.stop();
  log.info('ended');
  await new Promise<void>((resolve) => log.flush(() => resolve()));
}

/** How long a store may take to seal the turns that were stopped. */
const sealGraceMs = 5000;

/** How long answers that are on their way may take once every turn has ended. */
const closeGraceMs = 2000;
