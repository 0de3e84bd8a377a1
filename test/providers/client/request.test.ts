/** The bytes of a request do not depend on the requests before it. */
import fc from 'fast-check';
import t from 'tap';
import manifest from '../../../package.json' with { type: 'json' };
import { requestBytes, type ProviderGet, type ProviderPost } from '../../../src/providers/client/request.ts';
import { targetOf } from '../../../src/providers/client/target.ts';

const made = (request: ProviderGet | ProviderPost, target = targetOf(request.baseUrl, true)!): string => {
  const bytes = requestBytes(target, request);
  return typeof bytes === 'string' ? bytes : bytes.toString('latin1');
};

t.test('a request is its head, its headers and its body', async (t) => {
  const get = {
    baseUrl: 'http://127.0.0.1:1/v1',
    path: '/models',
    headers: { authorization: 'Bearer a', accept: '*/*' },
  };
  const head = ` HTTP/1.1\r\nhost: 127.0.0.1:1\r\nconnection: keep-alive\r\nuser-agent: parley/${manifest.version}\r\nauthorization: Bearer a\r\naccept: */*\r\n`;
  t.equal(made(get), `GET /v1/models${head}\r\n`);
  t.equal(made({ ...get, body: 'é' }), `POST /v1/models${head}content-length: 2\r\n\r\nÃ©`);
  t.equal(made({ ...get, body: new Uint8Array([0, 255]) }), `POST /v1/models${head}content-length: 2\r\n\r\n\0ÿ`);
  t.equal(made({ ...get, headers: { authorization: 'a\nb' } }), 'credential');
  t.equal(made({ ...get, path: '/a b' }), 'address');
});

t.test('each request to a target is as the first one to it would be', async (t) => {
  const baseUrl = 'http://127.0.0.1:1/v1';
  const headers = fc
    .array(fc.constantFrom('a', 'b', 'a\nb', ''), { minLength: 3, maxLength: 3 })
    .map((values) =>
      Object.fromEntries(
        ['authorization', 'accept', 'x-key'].flatMap((name, index) => (values[index] ? [[name, values[index]]] : [])),
      ),
    );
  const request = fc.record({
    baseUrl: fc.constant(baseUrl),
    path: fc.constantFrom('/a', '/b', '/a b'),
    headers,
    body: fc.constantFrom('', '{}', undefined),
  });
  fc.assert(
    fc.property(fc.array(request, { maxLength: 8 }), (requests) => {
      const target = targetOf(baseUrl, true)!;
      return requests.every(({ body, ...get }) => {
        const asked = body === undefined ? get : { ...get, body };
        return made(asked, target) === made(asked);
      });
    }),
    { numRuns: 500 },
  );
  t.pass();
});
