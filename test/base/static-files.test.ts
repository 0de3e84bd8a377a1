import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import t from 'tap';
import type { RequestHead } from '../../src/base/edge.ts';
import { fileReply } from '../../src/http/handlers/file.ts';
import { readStaticFiles } from '../../src/base/static-files.ts';
import { temporaryFolder } from '../folders.ts';

const asking = (headers: Readonly<Record<string, string>>): RequestHead => ({
  method: 'GET',
  path: '/',
  query: '',
  remoteAddress: '::1',
  headers: (name) => (headers[name] === undefined ? [] : [headers[name]]),
});

t.test('files by their paths, with what is compressed beside them', async (t) => {
  const folder = await temporaryFolder(t);
  mkdirSync(join(folder, 'deep'));
  const text = 'body { color: red }'.repeat(50);
  writeFileSync(join(folder, 'deep', 'a.css'), text);
  writeFileSync(join(folder, 'deep', 'a.css.br'), brotliCompressSync(text));
  writeFileSync(join(folder, 'deep', 'a.css.gz'), gzipSync(text));
  writeFileSync(join(folder, 'index.html'), '<!doctype html>');
  const files = readStaticFiles(folder);
  t.same([...files.keys()].sort(), ['deep/a.css', 'index.html']);
  const css = files.get('deep/a.css')!;
  const read = (acceptEncoding: string | undefined): [string | undefined, string] => {
    const reply = fileReply(css, asking(acceptEncoding === undefined ? {} : { 'accept-encoding': acceptEncoding })) as {
      headers: Record<string, string>;
      bytes: Uint8Array;
    };
    t.match(reply, { status: 200, headers: { 'content-type': 'text/css; charset=utf-8', vary: 'accept-encoding' } });
    const coding = reply.headers['content-encoding'];
    const plain =
      coding === 'br'
        ? brotliDecompressSync(reply.bytes)
        : coding === 'gzip'
          ? gunzipSync(reply.bytes)
          : Buffer.from(reply.bytes);
    return [coding, plain.toString()];
  };
  const expected: [string | undefined, string | undefined][] = [
    [undefined, undefined],
    ['gzip, deflate, br', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0.1, gzip;q=0.9', 'gzip'],
    ['br;q=0', undefined],
    ['br;q=0, *', 'gzip'],
    ['identity', undefined],
    ['BR', 'br'],
  ];
  for (const [accept, coding] of expected) t.same(read(accept), [coding, text], accept ?? 'nothing said');

  const { headers } = fileReply(css, asking({ 'accept-encoding': 'br' })) as { headers: Record<string, string> };
  const again = fileReply(css, asking({ 'if-none-match': `"other", ${headers['etag']!}` }));
  t.match(again, { status: 304, headers: { etag: css.etag, vary: 'accept-encoding' }, empty: true });
  t.match(fileReply(css, asking({ 'if-none-match': '"other"' })), { status: 200 });
  t.match(fileReply(files.get('index.html')!, asking({ 'accept-encoding': 'br' }), { 'cache-control': 'max-age=60' }), {
    status: 200,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'max-age=60',
      'content-encoding': undefined,
    },
  });
});

t.test('a file of an unknown type is refused', async (t) => {
  const folder = await temporaryFolder(t);
  writeFileSync(join(folder, 'a.unknown'), '');
  t.throws(() => readStaticFiles(folder), { message: /a\.unknown has no content type/ });
});
