/** The reference's texts on the paths for operators of a server. */
import manifest from '../../../package.json' with { type: 'json' };
import type { Area } from './entry.ts';

const metrics = `# HELP parley_http_requests_total Requests answered.
# TYPE parley_http_requests_total counter
parley_http_requests_total{route="/sessions/{id}/chat",status="200"} 7
`;

export const service: Area = {
  name: 'Health, metrics and reference',
  group: 'Service',
  description: 'For operators of a server, and for readers of this reference. These paths need no key.',
  entries: {
    'GET /openapi.json': {
      does: 'Returns this reference as an OpenAPI 3.1 document. The schemas are the ones that the server validates with, and `x-events` has those of the events of a stream. The messages of the sockets for speech are in `/asyncapi.json`.',
      answer: { openapi: '3.1.0', info: { title: 'parley', version: manifest.version } },
    },
    'GET /asyncapi.json': {
      does: 'Returns the messages of the transcription socket and of a call as an AsyncAPI 3.0 document, with a schema and an example each, and the codes that they are closed with. The schemas are the ones that the server validates with.',
      answer: { asyncapi: '3.0.0', info: { title: 'parley: speech', version: manifest.version } },
    },
    'GET /docs': {
      does: 'Returns this reference as a page for a browser. The page is one file without scripts: it loads nothing, and nothing of it comes from elsewhere.',
      answer: '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n',
    },
    'GET /healthz': {
      does: 'Says that the process runs. It looks at nothing else, so a store that is away does not change the answer. `X-Reached-At` is the origin at which the server believes to be reached: where it differs from the one that was asked, a proxy does not report how the client came.',
      answer: { status: 'ok' },
    },
    'GET /readyz': {
      does: 'Says whether the process takes work: it is not draining, and its store answers. A load balancer sends requests here while it is 200.',
      surprises:
        '503 `api_error` while the server drains before its end, and while the store is away or cannot do its work. With a management port the path is on that port alone.',
      answer: { status: 'ready' },
    },
    'GET /metrics': {
      does: 'Returns the metrics in the text format of Prometheus; all names begin with `parley_`. With several processes under one supervisor the management port has the sum of all.',
      surprises: 'With a management port the path is on that port alone.',
      answer: metrics,
    },
  },
};
