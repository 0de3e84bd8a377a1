/** The edge alone: every request is answered with the same text and headers, as many as a refusal has. */
import { WheelClock } from '../src/base/clock.ts';
import { openUwsEdge } from '../src/http/edge/uws.ts';
import { limits } from '../src/base/limits.ts';

const headers = {
  'content-type': 'application/json',
  'x-request-id': 'req_00000000000000000000000000',
  'x-ratelimit-limit': '1',
  'x-ratelimit-remaining': '0',
  'x-ratelimit-reset': '1700000000',
  'retry-after': '60',
};
const error = { type: 'rate_limit_error', code: 'rate_limited', message: 'Rate limit exceeded. Retry in 60 seconds.' };
const body = JSON.stringify({ error, request_id: headers['x-request-id'] });

const listener = {
  exchange: (exchange: {
    respond(status: number, headers: Readonly<Record<string, string>>, body: string): void;
  }): void => exchange.respond(200, headers, body),
  upgrade: (): void => {},
  refuse: (): void => {},
};
const edge = await openUwsEdge(listener, limits, new WheelClock());
process.send?.({ port: await edge.listen('127.0.0.1', 0) });
