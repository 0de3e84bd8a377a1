/**
 * Hostile requests against both engines, a small lot of them (promise P13); `npm run fuzz` sends them by the ten
 * thousand. The judge itself is shown what it must not let pass.
 */
import fc from 'fast-check';
import t from 'tap';
import { edges } from '../api/house.ts';
import { barrage } from './barrage.ts';
import { Judge } from './judge.ts';
import { readRequest } from './reader.ts';
import { hostileRequests } from './requests.ts';
import { openWorld } from './world.ts';

const seed = 20_261_121;

for (const edge of edges) {
  t.test(edge, async (t) => {
    const world = await openWorld(t, edge);
    await t.resolves(barrage(world, { seed, times: 100 }), `${edge}, seed ${seed}`);
    const sample = fc
      .sample(hostileRequests(world), { seed, numRuns: 500 })
      .map((pieces) => readRequest(pieces.join('')).kind);
    for (const kind of ['whole', 'torn', 'odd']) t.ok(sample.includes(kind as 'whole'), `some of them are ${kind}`);
    const judge = await Judge.open(edge, world.house);
    const pieces = ['GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'];
    const id = `req_${'0'.repeat(26)}`;
    const answer = (status: string, body: string, header = `X-Request-Id: ${id}`): string =>
      `HTTP/1.1 ${status}\r\n${header}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const failure = (type: string, code: string, message: string) =>
      JSON.stringify({ error: { type, code, message }, request_id: id });
    const good = answer('200 OK', '{"status":"ok"}');
    t.doesNotThrow(() => judge.check({ pieces, got: good, closed: false }));
    const bad: Record<string, string> = {
      'no answer': '',
      'two answers': good + good,
      'half an answer': good.slice(0, -1),
      'bytes behind it': `${good}x`,
      'no request id': answer('200 OK', '{"status":"ok"}', 'X: y'),
      'another body': answer('200 OK', '{"status":"no"}'),
      'a page of HTML': 'HTTP/1.1 400 Bad Request\r\nContent-Length: 4\r\n\r\n<h1>',
      'another status': answer('404 Not Found', failure('not_found', 'assistant_not_found', 'No such assistant.')),
      'another sentence': answer('404 Not Found', failure('not_found', 'route_not_found', 'Cannot GET /healthz')),
      'another shape': answer('404 Not Found', '{"message":"no"}'),
      'a fault of ours': answer(
        '500 Internal Server Error',
        failure('api_error', 'api_error', 'Something went wrong on our side.'),
      ),
    };
    for (const [name, got] of Object.entries(bad))
      t.throws(() => judge.check({ pieces, got, closed: true }), `the judge lets ${name} not pass`);
  });
}
