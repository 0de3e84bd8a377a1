/** The pages of the public link as served: who may open and frame them, and their size (contract 9). */
import { gzipSync } from 'node:zlib';
import t from 'tap';
import { languages } from '../../../src/pages/words.ts';
import { openHouse } from '../../api/house.ts';
import { linked, site } from './visits.ts';

const house = await openHouse(t);
await linked(house, 'spoken', { channels: { voice: true, link: true, widget: true } });
const assistant = await linked(house, 'pages', {
  greeting: 'Good day.',
  visitor_fields: [{ name: 'email', label: 'E-mail', type: 'email', required: true }],
  name: 'tokens=3,delay_ms=0',
  origins: [site, 'https://*.wide.example'],
});
const html = { accept: 'text/html,application/xhtml+xml' };
/** Pages are in no document that an answer could be held to. */
async function get(path: string, headers: Record<string, string> = html) {
  const answer = await fetch(house.url + path, { headers });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}
const ancestors = (headers: Headers): string | undefined =>
  /frame-ancestors (.+)$/.exec(headers.get('content-security-policy') ?? '')?.[1];

t.test('the page of a link serves its settings', async (t) => {
  const { status, headers, text } = await get('/p/pages');
  t.same(
    [
      status,
      headers.get('content-type'),
      headers.get('x-content-type-options'),
      headers.get('access-control-allow-origin'),
    ],
    [200, 'text/html; charset=utf-8', 'nosniff', null],
  );
  t.equal(ancestors(headers), "'none'");
  const policy = headers.get('content-security-policy')!;
  t.notMatch(policy, /unsafe|\*|http|blob/);
  for (const needed of [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
  ])
    t.ok(policy.includes(needed), needed);
  t.notMatch(
    text,
    /<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|https?:\/\/(?!www\.w3\.org)/,
    'nothing inline, nothing from elsewhere',
  );
  t.equal((await get('/p/pages', { ...html, 'if-none-match': headers.get('etag')! })).status, 304);
  t.equal((await get('/p/pages', { origin: 'https://other.example' })).status, 200, 'a page has no rule of origins');
});

t.test('an address of a page with a slash at its end leads to the page, with its query', async (t) => {
  for (const [path, place] of [
    ['/p/pages/', '/p/pages'],
    ['/p/pages/?lang=de&accent=%23ffee00', '/p/pages?lang=de&accent=%23ffee00'],
    ['/p/nobody%20here/', '/p/nobody%20here'],
    ['/docs/', '/docs'],
  ] as const) {
    for (const headers of [html, {}]) {
      const answer = await fetch(house.url + path, { headers, redirect: 'manual' });
      t.same([answer.status, answer.headers.get('location')], [308, place], path);
    }
  }
  t.match((await get('/p/pages/?lang=de')).text, '<html lang="de"');
  t.equal((await get('/p/nobody/')).status, 404);
  for (const path of ['/p/', '/p//', '/p/pages//', '/p/pages/about/', '/p/pages/frame/'])
    t.equal((await get(path)).status, 404, path);
});

/** The files that a page names, as they are served. */
async function filesOf(text: string): Promise<Map<string, Buffer>> {
  const found = new Map<string, Buffer>();
  for (const [, path] of text.matchAll(/(?:href|src)="(\/link\/[^"]+)"/g))
    found.set(path!, Buffer.from((await get(path!, {})).text));
  return found;
}

t.test('files of the page are immutable, and are 28 KB in all, gzipped, in each language', async (t) => {
  for (const [slug, language] of languages.flatMap(
    (language) =>
      [
        ['pages', language],
        ['spoken', language],
      ] as const,
  )) {
    const { text } = await get(`/p/${slug}?lang=${language}`);
    const files = await filesOf(text);
    for (const path of files.keys()) {
      t.match(path, /^\/link\/[\w-]+-[A-Z0-9]{8}\.(js|css)$/);
      const { status, headers } = await get(path, { 'accept-encoding': 'br' });
      t.match(
        [status, headers.get('cache-control'), headers.get('content-encoding')],
        [200, 'public, max-age=31536000, immutable', 'br'],
      );
    }
    const packed = [Buffer.from(text), ...files.values()].reduce(
      (sum, bytes) => sum + gzipSync(bytes, { level: 9 }).length,
      0,
    );
    t.comment(`${slug} ${language}: ${packed} bytes, ${files.size + 1} requests`);
    t.ok(packed <= 28_000, `${slug} ${language}: ${packed} bytes`);
    // Modules imported statically are named in the page, so that none waits for another file.
    const scripts = [...files].filter(([path]) => path.endsWith('.js'));
    const named = new Set([...files.keys()].map((path) => path.split('/').at(-1)));
    for (const [, bytes] of scripts)
      for (const [, name] of bytes.toString().matchAll(/(?:from|import)\s*"\.\/([\w.-]+\.js)"/g))
        t.ok(named.has(name), name!);
    const voice = [...bytesOf(scripts).matchAll(/import\("\.\/((?:voice|speech)-[\w-]+\.js)"\)/g)].map(
      ([, name]) => name!,
    );
    if (slug === 'spoken')
      t.match(bytesOf(scripts), /import\("\.\/call-[\w-]+\.js"\)/, 'calls are loaded with the first one');
    if (language === 'en')
      t.comment(
        `voice: ${(await Promise.all([...new Set(voice)].map(async (name) => gzipSync((await get(`/link/${name}`, {})).text, { level: 9 }).length))).reduce((sum, bytes) => sum + bytes, 0)} bytes more`,
      );
  }
  t.same(
    [
      (await get('/link/main-00000000.js')).status,
      (await get('/link/')).status,
      (await get('/link/built.json')).status,
    ],
    [404, 404, 404],
  );
});

const bytesOf = (files: readonly (readonly [string, Buffer])[]): string =>
  files.map(([, bytes]) => bytes.toString()).join('');

t.test('the language is the one asked for, else the first of the browser that there is', async (t) => {
  const languageOf = async (accepted: string, query = ''): Promise<string> =>
    /<html lang="(\w+)" dir="(\w+)"/
      .exec((await get(`/p/pages${query}`, { ...html, 'accept-language': accepted })).text)!
      .slice(1)
      .join(' ');
  for (const [accepted, language] of [
    ['de-AT,de;q=0.9,en;q=0.8', 'de'],
    ['nl,fr-CH;q=0.7,en;q=0.5', 'fr'],
    ['en;q=0.2, pt-BR', 'pt'],
    ['es', 'es'],
    ['ja;q=0.9,zh', 'ja'],
    ['', 'en'],
    ['xx', 'en'],
    ['de;q=0, *', 'en'],
    ['de;q=x', 'en'],
  ] as const) {
    t.equal(await languageOf(accepted), `${language} ltr`, accepted);
  }
  t.equal(await languageOf('ar-EG'), 'ar rtl');
  t.equal(await languageOf('de', '?lang=ar-SA'), 'ar rtl');
  t.equal(await languageOf('de', '?lang=tlh'), 'de ltr');
  const { headers, text } = await get('/p/nobody', { ...html, 'accept-language': 'de' });
  t.match(text, 'Hier ist nichts.');
  t.match(headers.get('vary'), /accept-language/);
});

t.test('who may frame it', async (t) => {
  const framed = async (host?: string, slug = 'pages') => {
    const { status, headers } = await get(
      `/p/${slug}/frame${host === undefined ? '' : `?host=${encodeURIComponent(host)}`}`,
    );
    return [status, ancestors(headers)];
  };
  t.same(await framed(site), [200, site]);
  t.same(await framed('https://a.wide.example'), [200, 'https://a.wide.example']);
  for (const host of [
    undefined,
    '',
    'https://other.example',
    'null',
    '*',
    `${site} https://other.example`,
    'https://x;script-src.wide.example',
    `${site}/path`,
    'capacitor://localhost',
  ])
    t.same(await framed(host), [200, "'none'"], host ?? 'none given');
  for (const label of ['a', 'a.b', 'A', '-', '_', 'xn--bcher-kva', '1'])
    t.same(await framed(`https://${label}.wide.example`), [200, `https://${label.toLowerCase()}.wide.example`], label);
  t.same(await framed('https://bücher.wide.example'), [200, 'https://xn--bcher-kva.wide.example']);
  t.same(
    await framed('https://a.wide.example:443'),
    [200, 'https://a.wide.example'],
    'the default port, which no browser names',
  );
  const nobodys = [
    ...[
      'https://.wide.example',
      'https://a..wide.example',
      'https://..wide.example',
      'https://.a.wide.example',
      'https://a.wide..example',
      'https://%2e.wide.example',
      'https://。wide.example',
      'https://\u00ad.wide.example',
    ],
    ...[
      'https://a.wide.example.',
      'https://wide.example.',
      'https://a.wide.example:8443',
      'https://u@a.wide.example',
      'https://a.wide.example@evil.example',
      'https://[::1].wide.example',
      'https://[::1]',
    ],
    ...[
      'https://a.wide.example.evil.example',
      'https://awide.example',
      'https:a.wide.example',
      'https://a.wide.example\\',
      'https://*.wide.example',
      'wss://a.wide.example',
    ],
  ];
  for (const host of nobodys) t.same(await framed(host), [200, "'none'"], host);
  await linked(house, 'anywhere', { origins: ['*'], name: 'tokens=3,delay_ms=0' });
  for (const host of [
    'https://any.example:99',
    'capacitor://localhost',
    'chrome-extension://abcdefghijklmnopabcdefghijklmnop',
  ])
    t.same(await framed(host, 'anywhere'), [200, host], host);
  for (const host of ['null', 'data:text/html,x', 'app://a;script-src', 'app://a b'])
    t.same(await framed(host, 'anywhere'), [200, "'none'"], host);
});

t.test('a frame of a site that is not listed, or of no widget, has words that any site may show', async (t) => {
  await linked(house, 'unframed', { channels: { voice: false, link: true, widget: false } });
  const framed = (slug: string, host: string, more: Record<string, string> = {}) =>
    get(`/p/${slug}/frame?host=${encodeURIComponent(host)}`, { ...html, 'sec-fetch-dest': 'iframe', ...more });
  t.equal(ancestors((await framed('pages', site)).headers), site, 'a site that is listed has the conversation');
  for (const [slug, status, hint] of [
    ['pages', 200, 'https://other.example'],
    ['nobody', 404, 'nobody'],
    ['unframed', 404, 'unframed'],
  ] as const) {
    const { headers, text, ...answer } = await framed(slug, 'https://other.example');
    t.same([answer.status, ancestors(headers), headers.get('cache-control')], [status, undefined, 'no-store'], slug);
    t.match(text, '<p>Not available here.</p>');
    t.match(/data-hint="([^"]*)"/.exec(text)![1], hint);
    t.notMatch(text, /<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|Good day/);
    t.notMatch(headers.get('content-security-policy'), /unsafe|\*|http|blob/);
  }
  t.match((await framed('pages', 'https://other.example', { 'accept-language': 'de' })).text, 'Hier nicht verfügbar.');
  const { text } = await framed('pages', `https://x.example/"><script>${'x'.repeat(1000)}`);
  t.notMatch(text, '"><script>x');
  t.ok(text.length < 2000);
  for (const dest of ['document', 'empty'])
    t.equal(
      ancestors((await framed('pages', 'https://other.example', { 'sec-fetch-dest': dest })).headers),
      "'none'",
      dest,
    );
});

t.test('where there is nothing', async (t) => {
  const unknown = await get('/p/nobody');
  t.same([unknown.status, unknown.headers.get('content-type')], [404, 'text/html; charset=utf-8']);
  for (const path of ['/p/nobody', '/p/nobody/frame']) {
    const { status, text } = await get(path, { accept: '*/*' });
    t.same([status, JSON.parse(text).error.code], [404, 'assistant_not_found'], 'others get the shape of all failures');
  }
  const turn = (channels: object) =>
    house.console(`/workspaces/${house.workspaceId}/assistants/${assistant.id}`, {
      method: 'PATCH',
      body: { channels },
    });
  await turn({ link: false });
  t.same(
    [(await get('/p/pages')).status, (await get('/p/pages')).text, (await get('/p/pages/frame')).status],
    [404, unknown.text, 200],
  );
  await turn({ link: true, widget: false });
  t.same([(await get('/p/pages')).status, (await get('/p/pages/frame')).status], [200, 404]);
  await turn({ widget: true });
});
