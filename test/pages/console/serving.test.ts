/** `/console` as it is served: one page and its files, with their headers; and how large they are. */
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { pagesPolicy } from '../../../src/http/pages.ts';
import { edge, openHouse, type House } from '../../api/house.ts';

interface Got {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly bytes: Buffer;
}

async function get(house: House, path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Got> {
  const [response]: IncomingMessage[] = await once(request(house.url + path, { method, headers }).end(), 'response');
  return { status: response!.statusCode!, headers: response!.headers, bytes: await buffer(response!) };
}

t.test(`on ${edge}`, async (t) => {
  const house = await openHouse(t);
  const page = await get(house, '/console');
  const text = page.bytes.toString();
  await t.test('the page has its policy, is never kept and is the same at every address of its own', (t) =>
    thePage(t, house, page),
  );
  await t.test('files of the console are immutable and compressed', (t) => itsFiles(t, house, text));
  await t.test("what is the API's stays the API's", (t) => notTheApi(t, house));
  await t.test('a console served by TLS asks browsers for TLS from then on', (t) => byTls(t));
  await t.test('each file of the console stays within its size', (t) => sizes(t, house, text));
});

async function thePage(t: Test, house: House, { status, headers, bytes }: Got): Promise<void> {
  t.equal(status, 200);
  t.match(headers, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': pagesPolicy,
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'x-request-id': /^req_/,
  });
  const believed = await get(house, '/console', {
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'parley.example.com',
  });
  t.equal(believed.headers['strict-transport-security'], undefined, 'nobody is believed who is not trusted');
  t.notMatch(pagesPolicy, /unsafe|\*|http/);
  for (const needed of [
    "default-src 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "base-uri 'none'",
  ])
    t.ok(pagesPolicy.includes(needed), needed);
  t.notMatch(
    bytes.toString(),
    /<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|https?:\/\/(?!www\.w3\.org)/,
    'nothing inline, nothing from elsewhere',
  );
  for (const path of ['/console/', '/console/live', '/console/wks_1/sessions/ses_1?at=2', '/console/a/b/c%20d']) {
    const other = await get(house, path);
    t.same(
      [other.status, other.bytes.equals(bytes), other.headers['content-security-policy']],
      [200, true, pagesPolicy],
      path,
    );
  }
  const head = await get(house, '/console', {}, 'HEAD');
  t.same([head.status, head.bytes.length, head.headers['content-type']], [200, 0, 'text/html; charset=utf-8']);
}

async function byTls(t: Test): Promise<void> {
  const trusting = await openHouse(t, { env: { PARLEY_TRUSTED_PROXIES: '127.0.0.1' } });
  const strict = async (headers: Record<string, string>): Promise<string | undefined> =>
    (await get(trusting, '/console/live', headers)).headers['strict-transport-security'];
  const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'parley.example.com' };
  t.equal(await strict(forwarded), 'max-age=31536000');
  t.equal(
    await strict({ ...forwarded, 'x-forwarded-host': 'localhost:8443' }),
    undefined,
    'a name of loopback is shared with other servers',
  );
  t.equal(await strict({ ...forwarded, 'x-forwarded-proto': 'http' }), undefined, 'not by plain HTTP');
  t.equal(await strict({}), undefined);
  await trusting.stop();
}

const filesOf = (text: string): string[] => [
  ...new Set([...text.matchAll(/(?:href|src)="(\/console\/[^"]+)"/g)].map(([, path]) => path!)),
];

async function itsFiles(t: Test, house: House, text: string): Promise<void> {
  const files = filesOf(text);
  t.ok(files.some((path) => path.endsWith('.js')) && files.some((path) => path.endsWith('.css')));
  for (const path of files) {
    t.match(path, /^\/console\/assets\/[\w.-]+-[A-Z0-9]{8}\.(js|css)$/);
    const plain = await get(house, path);
    t.match(plain.headers, {
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
      'x-request-id': /^req_/,
    });
    t.match(
      plain.headers['content-type'],
      path.endsWith('.js') ? 'text/javascript; charset=utf-8' : 'text/css; charset=utf-8',
    );
    for (const [coding, decode] of [
      ['br', brotliDecompressSync],
      ['gzip', gunzipSync],
    ] as const) {
      const coded = await get(house, path, { 'accept-encoding': coding });
      t.equal(coded.headers['content-encoding'], coding);
      t.ok(decode(coded.bytes).equals(plain.bytes), `${path}, ${coding}`);
    }
  }
}

async function notTheApi(t: Test, house: House): Promise<void> {
  for (const path of [
    '/console/api',
    '/console/api/',
    '/console/api/nowhere',
    '/console/api/workspaces/wks_1/nowhere',
    '/console/assets/main-00000000.js',
    '/consoles',
  ]) {
    const { status, headers, bytes } = await get(house, path);
    t.same([status, headers['content-type']], [404, 'application/json; charset=utf-8'], path);
    const { error, request_id: id } = JSON.parse(bytes.toString());
    t.same([error.code, id], ['route_not_found', headers['x-request-id']]);
  }
  t.equal((await get(house, '/console/live', {}, 'POST')).status, 404);
  t.equal((await get(house, '/console/api/workspaces')).status, 401);
}

/** Every script that these reach by `import … from`, themselves included. */
async function reached(house: House, paths: readonly string[]): Promise<Map<string, Buffer>> {
  const found = new Map<string, Buffer>();
  const visit = async (path: string): Promise<void> => {
    if (found.has(path)) return;
    const { bytes } = await get(house, path);
    found.set(path, bytes);
    for (const [, name] of bytes.toString().matchAll(/(?:from|import)\s*"\.\/([\w.-]+\.js)"/g))
      await visit(`/console/assets/${name}`);
  };
  for (const path of paths) await visit(path);
  return found;
}

const packed = (files: Iterable<Buffer>): number =>
  [...files].reduce((sum, bytes) => sum + gzipSync(bytes, { level: 9 }).length, 0);

async function sizes(t: Test, house: House, text: string): Promise<void> {
  const files = filesOf(text);
  const first = await reached(
    house,
    files.filter((path) => path.endsWith('.js')),
  );
  const style = await get(
    house,
    files.find((path) => path.endsWith('.css'))!,
  );
  const lazy = [
    ...new Set(
      [...first.values()].flatMap((bytes) =>
        [...bytes.toString().matchAll(/import\("\.\/([\w.-]+\.js)"\)/g)].map(([, name]) => `/console/assets/${name}`),
      ),
    ),
  ];
  const opened = async (name: string): Promise<number> => {
    const all = await reached(
      house,
      lazy.filter((path) => path.includes(`/${name}-`)),
    );
    t.ok(all.size > 0, name);
    return packed([...all].filter(([path]) => !first.has(path)).map(([, bytes]) => bytes));
  };
  const forms = await reached(
    house,
    lazy.filter((path) => path.includes('/forms-')),
  );
  const plots = [...forms.values()].flatMap((bytes) =>
    [...bytes.toString().matchAll(/import\("\.\/(uPlot[\w.-]+\.js)"\)/g)].map(([, name]) => `/console/assets/${name}`),
  );
  const measured = {
    first: packed(first.values()),
    style: packed([style.bytes]),
    charts: await opened('charts'),
    forms: await opened('forms'),
    plots: packed((await reached(house, plots)).values()),
  };
  t.comment(JSON.stringify(measured));
  t.ok(measured.first <= 35_000, `first load: ${measured.first} bytes of script`);
  t.ok(measured.style <= 8500, `${measured.style} bytes of styles`);
  t.ok(measured.charts <= 50_000, `charts: ${measured.charts} bytes`);
  t.ok(measured.plots > 10_000 && measured.plots <= 24_000, `plots: ${measured.plots} bytes`);
  t.ok(files.length + 1 <= 5, `${files.length + 1} requests before the page runs`);
}
