/** Log lines and metrics of a turn. */
import type { Log } from '../base/log.ts';
import type { Metrics, TurnFault } from '../metrics/metrics.ts';
import type { ModelFailure } from '../providers/model.ts';
import type { TurnReports, TurnStatus } from './ports.ts';

export interface ReportServices {
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'turns' | 'turnFaults'>;
}

export class LoggedReports implements TurnReports {
  readonly #requestId: string;
  readonly #sessionId: string;
  readonly #services: ReportServices;

  constructor(requestId: string, sessionId: string, services: ReportServices) {
    this.#requestId = requestId;
    this.#sessionId = sessionId;
    this.#services = services;
  }

  get #fields() {
    return { request_id: this.#requestId, session_id: this.#sessionId };
  }

  providerFailed(reason: ModelFailure): void {
    this.#services.log.warn({ ...this.#fields, reason }, 'The model provider failed.');
  }

  leftOut(messages: number): void {
    this.#services.log.info(
      { ...this.#fields, messages },
      'The conversation exceeds the history budget: the model was sent its newest messages only.',
    );
  }

  ourFault(turnId: string, reason: TurnFault, cause: unknown): void {
    const { log, metrics } = this.#services;
    metrics.turnFaults.inc({ reason });
    log.error(
      { ...this.#fields, turn_id: turnId, reason, err: cause ?? undefined },
      'A turn failed for a fault of the server.',
    );
  }

  over(outcome: TurnStatus): void {
    this.#services.metrics.turns.inc({ outcome });
  }
}
