/** Names and attributes of spans, and the header that carries a parent (contract 16). */
import t from 'tap';
import {
  attributesOf,
  hasFailed,
  namesOf,
  readTraceparent,
  turnPage,
  writeTraceparent,
} from '../../../src/operations/tracing/names.ts';

const [traceId, spanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];

t.test('a traceparent is read as the W3C says, also of a later version', async (t) => {
  const place = { traceId, spanId, traceFlags: 1 };
  t.same(readTraceparent(`00-${traceId}-${spanId}-01`), place);
  t.same(readTraceparent(`00-${traceId}-${spanId}-03`), place, 'flags that are not known are dropped');
  t.same(readTraceparent(`00-${traceId}-${spanId}-02`), { ...place, traceFlags: 0 });
  t.same(readTraceparent(`cc-${traceId}-${spanId}-01-what-the-future-brings`), place);
  t.equal(writeTraceparent(place), `00-${traceId}-${spanId}-01`);
  for (const malformed of [
    '',
    'x',
    `${traceId}-${spanId}-01`,
    `00-${traceId}-${spanId}`,
    `00-${traceId}-${spanId}-1`,
    `00-${traceId}-${spanId}-01-`,
    `00-${traceId}-${spanId}-01 `,
    `ff-${traceId}-${spanId}-01`,
    `cc-${traceId}-${spanId}-01.later`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `00-${traceId.slice(1)}g-${spanId}-01`,
    `00-${traceId}-${spanId}-01\n00-${traceId}-${spanId}-01`,
  ])
    t.equal(readTraceparent(malformed), null, JSON.stringify(malformed));
});

t.test('a method that HTTP does not know is not in a name', async (t) => {
  const of = (method: string, route: string | null) => namesOf({ kind: 'request', method, route, requestId: 'req_1' });
  t.match(of('BREW', null), { name: 'HTTP', attributes: { 'http.request.method': '_OTHER' } });
  t.match(of('GET', null), { name: 'GET', attributes: { 'http.request.method': 'GET' } });
  t.match(of('GET', '/voices'), { name: 'GET /voices', attributes: { 'http.route': '/voices' } });
});

t.test('settings that an assistant leaves out are not in a round', async (t) => {
  const round = { kind: 'round', provider: 'openai', model: 'gpt', address: null } as const;
  const { attributes } = namesOf({ ...round, outputTokensMax: null, temperature: null });
  t.same(Object.keys(attributes).sort(), [
    'gen_ai.operation.name',
    'gen_ai.provider.name',
    'gen_ai.request.model',
    'gen_ai.request.stream',
  ]);
  t.match(namesOf({ ...round, outputTokensMax: 100, temperature: 0, address: 'api.example.com' }).attributes, {
    'gen_ai.request.max_tokens': 100,
    'gen_ai.request.temperature': 0,
    'server.address': 'api.example.com',
  });
});

t.test('a span has failed by its error, and a request by its status', async (t) => {
  t.equal(hasFailed({}), false);
  t.equal(hasFailed({ error: null }), false);
  t.equal(hasFailed({ error: 'timeout' }), true);
  t.equal(hasFailed({ status: 409, error: 'turn_in_progress' }), false);
  t.equal(hasFailed({ status: 503, error: 'assistant_unavailable' }), true);
  t.same(attributesOf({ error: null, status: 200, finishReason: 'stop' }), {
    'http.response.status_code': 200,
    'gen_ai.response.finish_reasons': ['stop'],
  });
});

t.test('an attempt at a delivery is a client span with the status of its answer', async (t) => {
  const delivery = { kind: 'delivery', deliveryId: 'dlv_1', event: 'turn.failed', attempt: 2, address: 'crm.example' };
  t.match(namesOf(delivery as Parameters<typeof namesOf>[0]), {
    name: 'delivery',
    attributes: {
      'http.request.method': 'POST',
      'server.address': 'crm.example',
      'parley.delivery_id': 'dlv_1',
      'parley.event_type': 'turn.failed',
      'parley.attempt': 2,
    },
  });
  t.same(attributesOf({ answeredStatus: 404, error: 'refused' }), {
    'http.response.status_code': 404,
    'error.type': 'refused',
  });
  t.equal(hasFailed({ answeredStatus: 404, error: 'refused' }), true);
  t.equal(hasFailed({ answeredStatus: 204, error: null }), false);
});

t.test("a turn's page is below the public address, or the root of the server", async (t) => {
  const turn = { workspaceId: 'wks_1', sessionId: 'sess_1' };
  const path = '/console/wks_1/live/turn/turn_1?session=sess_1';
  t.equal(turnPage('https://chat.example.com', turn, 'turn_1'), `https://chat.example.com${path}`);
  t.equal(turnPage('', turn, 'turn_1'), path);
});
