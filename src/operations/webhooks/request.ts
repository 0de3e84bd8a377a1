/** Sends one attempt at a delivery: a signed POST (contract 17), guarded as requests to HTTP tools are. */
import type { Clock } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { ProviderHttp } from '../../providers/client.ts';
import { addressOf } from '../../providers/tool/sending.ts';
import { signatureHeaders } from '../../providers/tool/signature.ts';
import type { WebhookAnswer } from './schedule.ts';

export interface WebhookRequest {
  /** The delivery's id: the same in every attempt. */
  readonly id: string;
  readonly url: string;
  /** The same bytes in every attempt. */
  readonly body: string;
  readonly secret: string;
  /** Absent while traces are off. */
  readonly traceparent?: string | null | undefined;
}

/**
 * Sends a request; resolves with the status of its answer, or with null if none comes in time. Discards the answer's
 * body within a bound. Never rejects.
 */
export function sendWebhook(
  http: ProviderHttp,
  clock: Clock,
  { id, url, body, secret, traceparent }: WebhookRequest,
  signal: AbortSignal,
): Promise<WebhookAnswer | null> {
  if (signal.aborted) return Promise.resolve(null);
  return new Promise((resolve) => {
    const settle = (answer: WebhookAnswer | null): void => {
      timer.cancel();
      signal.removeEventListener('abort', cut);
      resolve(answer);
    };
    const cut = (): void => {
      settle(null);
      request.cancel();
    };
    const post = {
      ...addressOf({ url }),
      headers: {
        'content-type': 'application/json',
        accept: '*/*',
        ...signatureHeaders(id, Math.floor(clock.now() / 1000), body, [secret]),
        ...(traceparent && { traceparent }),
      },
      body,
      once: true as const,
    };
    const listener = {
      head(_type: string, _encoding: string, { status }: { readonly status: number }): void {
        settle({ status, retryAfter: '' });
        request.release();
      },
      data(): void {},
      ended(): void {},
      failed(_failure: string, status: number | null, _text: string, _location: string, retryAfter: string): void {
        settle(status === null ? null : { status, retryAfter });
      },
    };
    const timer = clock.after(limits.webhookAnswerMs, cut);
    signal.addEventListener('abort', cut, { once: true });
    const request = http.post(post, listener, { silenceMs: limits.webhookAnswerMs });
  });
}
