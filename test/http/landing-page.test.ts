/**
 * All that a browser is served, by the server as `npm start` runs it: its characters, the page at `/`, and the icon.
 */
import t, { type Test } from 'tap';
import { rawAsk } from '../api/raw.ts';
import { edge } from '../api/house.ts';
import { startServer, type Server } from '../process.ts';

const html = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const get = (server: Server, path: string, accept: string | string[] | null = html, method = 'GET') =>
  rawAsk(server.url, path, { method, headers: accept === null ? {} : { accept } });

t.test(edge, async (t) => {
  const server = await startServer(t, { env: { PARLEY_EDGE: edge } });
  await linkIt(server);
  await t.test('every page and file has its characters as they were written', (t) => characters(t, server));
  await t.test('GET / is a page for those who name HTML', (t) => front(t, server));
  await t.test('GET / is an unknown path for clients that do not name HTML', (t) => others(t, server));
  await t.test('the icon is served and may be cached', (t) => icon(t, server));
  await t.test('both have their names in metrics and the access log', (t) => names(t, server));
});

/** Publishes the first assistant under the slug `hello`, with words in several scripts. */
async function linkIt({ url, operatorToken }: Server): Promise<void> {
  const ask = async (path: string, method = 'GET', body?: object) => {
    const headers = { authorization: `Bearer ${operatorToken}`, ...(body && { 'content-type': 'application/json' }) };
    const answer = await fetch(`${url}/console/api${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(await answer.text());
    return (await answer.json()) as any;
  };
  const [{ id: workspace }] = (await ask('/workspaces')).data;
  const [{ id }] = (await ask(`/workspaces/${workspace}/assistants`)).data;
  await ask(`/workspaces/${workspace}/assistants/${id}`, 'PATCH', {
    greeting: 'Grüß dich · 你好',
    channels: { link: true, widget: true },
    link: { slug: 'hello', origins: ['*'] },
  });
  await ask(`/workspaces/${workspace}/assistants/${id}/publish`, 'POST');
}

/** UTF-8 that was read as Latin-1 or as Windows-1252, and written again. */
const mojibake = /[ÂÃ][\u0080-\u00bf\u2018-\u203a\u20ac]|â[\u0080-\u00bf\u20ac]|ï»¿/;

async function characters(t: Test, server: Server): Promise<void> {
  const languages = ['en', 'de', 'fr', 'es', 'pt', 'ja', 'ar'];
  const pages = [
    '/',
    '/docs',
    '/console',
    '/console/live',
    ...languages.flatMap((lang) => [
      `/p/hello?lang=${lang}`,
      `/p/hello/frame?host=https://a.example&lang=${lang}`,
      `/p/nobody?lang=${lang}`,
    ]),
  ];
  const documents = ['/openapi.json', '/asyncapi.json', '/widget.js', '/p/hello/about', '/healthz'];
  const seen = new Set([...pages, ...documents]);
  for (const path of seen) {
    const { text, headers, status } = await get(server, path);
    t.equal(status, path.startsWith('/p/nobody') ? 404 : 200, path);
    if (pages.includes(path)) {
      t.equal(headers.get('content-type'), 'text/html; charset=utf-8', path);
      t.match(text, /<meta charset="utf-8">/, path);
      t.notMatch(text, '\ufffd', path);
      t.match(headers.get('content-security-policy'), /default-src 'none'/, path);
    } else t.match(headers.get('content-type'), /; charset=utf-8$/, path);
    t.notMatch(mojibake.exec(text)?.[0] ?? '', /./, path);
    // The files that pages load, and the files that those load.
    const files = [...text.matchAll(/(?:href|src|data-voice)="(\/(?:console|link)\/[^"]+)"/g)].map(([, file]) => file!);
    const imported = [...text.matchAll(/["'](?:\.\.?\/)+((?:assets\/)?[\w-]+-[A-Z0-9]{8}\.(?:js|css))["']/g)].map(
      ([, file]) => path.replace(/[^/]+$/, file!.replace('assets/', '')),
    );
    for (const file of [...files, ...imported]) seen.add(file);
  }
  t.ok([...seen].filter((path) => path.startsWith('/console/assets/')).length > 5, 'the parts of the console as well');
  t.match((await get(server, '/docs')).text, 'class="facts">parley 0.1.0 · <a');
  t.match((await get(server, '/p/hello/about')).json.greeting, 'Grüß dich · 你好');
  t.match((await get(server, '/p/hello?lang=ja')).text, /[ぁ-ヿ]/);
}

async function front(t: Test, server: Server): Promise<void> {
  const page = await get(server, '/');
  t.equal(page.status, 200);
  t.match(Object.fromEntries(page.headers), {
    'content-type': 'text/html; charset=utf-8',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-cache',
    'x-request-id': /^req_/,
  });
  t.same(page.headers.get('vary')?.split(', ').sort(), ['accept', 'accept-encoding']);
  const policy = page.headers.get('content-security-policy')!;
  for (const needed of ["default-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"])
    t.match(policy, needed);
  t.notMatch(policy, /unsafe|\*|http/);
  t.same(
    [...page.text.matchAll(/href="([^"]*)"/g)].map(([, href]) => href),
    ['favicon.ico', 'console', 'docs'],
  );
  t.notMatch(page.text, /<script|\sstyle=|\son\w+=|https?:|asst_|hello/i);
  t.notMatch([...page.headers.keys()].join(), /ratelimit|set-cookie|access-control/);
  for (const accept of [
    'text/html',
    'TEXT/HTML',
    '*/*;q=0.1, text/html;q=0.001',
    'text/html;level=1',
    'application/json;q=1,text/html ; q=0.5',
    ['application/json', 'text/html'],
  ]) {
    const other = await get(server, '/', accept);
    t.same([other.status, other.text], [200, page.text], String(accept));
  }
  const everybody = {
    accept: html,
    authorization: `Bearer ${server.operatorToken}`,
    cookie: 'a=b',
    'accept-language': 'de',
    'x-api-key': server.key!,
  };
  t.equal((await rawAsk(server.url, '/', { headers: everybody })).text, page.text, 'the same for everybody');
  t.equal((await get(server, '/?utm_source=x&page=2')).text, page.text);
  t.equal((await get(server, '/?')).text, page.text);
  t.equal(
    (await rawAsk(server.url, '/', { headers: { accept: html, 'if-none-match': page.headers.get('etag')! } })).status,
    304,
  );
  const head = await get(server, '/', html, 'HEAD');
  t.same(
    [head.status, head.text, head.headers.get('content-type'), head.headers.get('content-length')],
    [200, '', 'text/html; charset=utf-8', String(Buffer.byteLength(page.text))],
  );
}

async function others(t: Test, server: Server): Promise<void> {
  const unknown = await get(server, '/nowhere');
  const same = (answer: typeof unknown, name: string): void => {
    t.same(
      [answer.status, answer.json?.error, answer.headers.get('content-type')],
      [404, unknown.json.error, unknown.headers.get('content-type')],
      name,
    );
    t.same(answer.json?.request_id, answer.headers.get('x-request-id'), name);
  };
  for (const accept of [
    null,
    '*/*',
    'text/*',
    'application/json',
    'text/html;q=0',
    'text/html; q=0.000',
    'text/html;level=1;q=0, */*',
    'text/plain',
    'application/xhtml+xml',
    'x-text/html',
    'text/htmlx',
    '',
  ]) {
    const answer = await get(server, '/', accept);
    same(answer, `Accept: ${accept}`);
    t.equal(answer.headers.get('vary'), 'accept');
    t.equal((await get(server, '/', accept, 'HEAD')).status, 404);
  }
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
    same(await get(server, '/', html, method), method);
  for (const path of ['//', '/.', '/index.html', '/%2f', '/favicon.ico/', '/Favicon.ico'])
    same(await get(server, path), path);
}

async function icon(t: Test, server: Server): Promise<void> {
  const answer = await fetch(`${server.url}/favicon.ico`);
  t.same(
    [
      answer.status,
      answer.headers.get('content-type'),
      answer.headers.get('cache-control'),
      answer.headers.get('x-content-type-options'),
    ],
    [200, 'image/x-icon', 'public, max-age=86400', 'nosniff'],
  );
  t.notMatch([...answer.headers.keys()].join(), /ratelimit|set-cookie/);
  const bytes = Buffer.from(await answer.arrayBuffer());
  t.same([bytes.readUInt32LE(0), bytes.readUInt16LE(4)], [0x10000, 1], 'an ICO with one image');
  const image = bytes.subarray(bytes.readUInt32LE(18));
  t.equal(image.length, bytes.readUInt32LE(14));
  t.same(image.subarray(0, 8), Buffer.from('89504e470d0a1a0a', 'hex'), 'which is a PNG');
  t.ok(bytes.length < 1000, `${bytes.length} bytes`);
  const head = await get(server, '/favicon.ico', null, 'HEAD');
  t.same([head.status, head.headers.get('content-length')], [200, String(bytes.length)]);
  t.equal(
    (await rawAsk(server.url, '/favicon.ico', { headers: { 'if-none-match': answer.headers.get('etag')! } })).status,
    304,
  );
  t.match((await get(server, '/console')).text, '<link rel="icon" href="/favicon.ico">');
}

async function names(t: Test, server: Server): Promise<void> {
  const { text } = await get(server, '/metrics');
  for (const line of ['route="/",status="200"', 'route="/",status="404"', 'route="/favicon.ico",status="200"'])
    t.match(text, line);
  // The log is written in pieces, the last of them at the end.
  await server.stop();
  const lines = server
    .stderr()
    .concat(server.stdout())
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));
  t.ok(lines.some(({ route, status, method }) => route === '/' && status === 200 && method === 'GET'));
  const ofIcon = lines.find(({ route }) => route === '/favicon.ico');
  t.match(ofIcon, { status: 200 });
  t.equal(ofIcon.address, undefined, "a visitor's browser may ask for it, so no address is written");
}
