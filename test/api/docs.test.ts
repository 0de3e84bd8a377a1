/** `GET /docs`: the reference as a page, complete, without a script, and under a policy that lets it load nothing. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { html } from '../../src/http/reference/docs/html.ts';
import { inline, markdown } from '../../src/http/reference/docs/markdown.ts';
import { fieldsOf } from '../../src/http/reference/docs/fields.ts';
import { curlOf, type Placed } from '../../src/http/reference/docs/operation.ts';
import { faintTexts, openBrowser, overflow, patience, whyNoBrowser } from '../browser.ts';
import { openHouse } from './house.ts';

const house = await openHouse(t);
const text = (parts: readonly { text: string }[]): string => parts.map((part) => part.text).join('');

t.test('the page /docs shows every route', async (t) => {
  const { status, headers, text: page } = await house.ask('/docs', { key: null });
  t.same([status, headers.get('content-type')], [200, 'text/html; charset=utf-8']);
  t.notOk(headers.has('x-ratelimit-limit'), 'it costs nobody anything');
  const document = (await house.ask('/openapi.json', { key: null })).json;

  await t.test('may load and run nothing, and has what it needs within it', async (t) => {
    const style = /<style>([^]*?)<\/style>/.exec(page)![1]!;
    const hash = createHash('sha256').update(style).digest('base64');
    t.equal(
      headers.get('content-security-policy'),
      `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    );
    // HTML in an example is text.
    t.notMatch(
      page.replaceAll(/&#60;script [^<]*/g, ''),
      /<script|<link|<img|<iframe|<form|\ssrc=|\sstyle=|\son\w+=|javascript:/i,
    );
    t.notMatch(style, /url\(|@import/);
    const links = [...page.matchAll(/href="([^"]*)"/g)].map(([, href]) => href!);
    t.same(
      links.filter((href) => !href.startsWith('#') && !['docs', 'openapi.json', 'asyncapi.json'].includes(href)),
      [],
      'links stay here',
    );
    t.same(
      [...new Set(links.filter((href) => href.startsWith('#')))].filter(
        (href) => !page.includes(` id="${href.slice(1)}"`),
      ),
      [],
      'and lead somewhere',
    );
  });

  await t.test('has every operation with its words, its request and its answer', async (t) => {
    for (const [path, methods] of Object.entries<any>(document.paths)) {
      for (const [method, operation] of Object.entries<any>(methods)) {
        const [article] = new RegExp(`<article id="${operation.operationId}"[^]*?</article>`).exec(page) ?? [''];
        const name = `${method} ${path}`;
        t.ok(article.includes(text(inline(operation.summary))), `${name}: summary`);
        t.ok(article.includes(text(markdown(operation.description))), `${name}: description`);
        t.ok(
          article.includes(html`<code>${curlOf({ method: method.toUpperCase(), path, operation })}</code>`.text),
          `${name}: request`,
        );
        for (const { value } of Object.values<any>(
          operation.responses[200]?.content?.['application/json']?.examples ?? {},
        )) {
          t.ok(article.includes(html`${JSON.stringify(value, null, 2)}`.text), `${name}: answer`);
        }
      }
    }
  });

  await t.test('is compressed for those who take it, and not sent again to those who have it', async (t) => {
    const get = async (headers: Record<string, string>): Promise<IncomingMessage> =>
      (await once(request(`${house.url}/docs`, { headers }).end(), 'response'))[0];
    t.equal(headers.get('x-content-type-options'), 'nosniff');
    const unchanged = await get({ 'if-none-match': headers.get('etag')! });
    t.same([unchanged.statusCode, (await buffer(unchanged)).length], [304, 0]);
    for (const [coding, decode] of [
      ['br', brotliDecompressSync],
      ['gzip', gunzipSync],
    ] as const) {
      const coded = await get({ 'accept-encoding': coding });
      const bytes = await buffer(coded);
      t.equal(coded.headers['content-encoding'], coding);
      t.equal(decode(bytes).toString(), page, coding);
      t.ok(bytes.length < 112 * 1024, `${coding}: ${bytes.length} bytes`);
    }
  });
});

t.test('texts are escaped', async (t) => {
  t.equal(
    text(markdown('a <b> & `<c>` **"d"**')),
    '<p>a &#60;b&#62; &#38; <code>&#60;c&#62;</code> <strong>&#34;d&#34;</strong></p>',
  );
  t.equal(
    text(markdown('```json\n{"a": "</pre>"}\n\n```')),
    '<pre tabindex="0"><code>{&#34;a&#34;: &#34;&#60;/pre&#62;&#34;}\n</code></pre>',
  );
  t.equal(text(markdown('## A\n\nb\n\n- c\n- `d`')), '<h3>A</h3><p>b</p><ul><li>c</li><li><code>d</code></li></ul>');
});

t.test('fields are named by their paths', async (t) => {
  const schemas = {
    Item: { type: 'object', properties: { id: { type: 'string', description: 'Its id.' } }, required: ['id'] },
  };
  const schema = {
    type: 'object',
    required: ['data'],
    properties: {
      data: { type: 'array', items: { $ref: '#/components/schemas/Item' } },
      limit: { type: 'integer', minimum: 0, maximum: 2, default: 1 },
      kind: { anyOf: [{ enum: ['a', 'b'] }, { type: 'null' }] },
    },
  };
  t.same(fieldsOf(schema, schemas), [
    { path: 'data', type: 'list of objects', required: true, note: '' },
    { path: 'data[].id', type: 'string', required: true, note: 'Its id.' },
    { path: 'limit', type: 'integer', required: false, note: '0 to 2. Default: `1`.' },
    { path: 'kind', type: 'one of "a", "b" or null', required: false, note: '' },
  ]);
});

t.test('the command is one that a shell takes', async (t) => {
  const placed = {
    method: 'PATCH',
    path: '/things/{id}',
    operation: {
      parameters: [
        { name: 'id', in: 'path', required: true, example: 'thing_1', schema: {} },
        { name: 'limit', in: 'query', required: false, example: 10, schema: {} },
        { name: 'Idempotency-Key', in: 'header', required: false, example: 'once', schema: {} },
      ],
      security: [{ operator: [] }],
      requestBody: {
        content: { 'application/json': { schema: {}, examples: { example: { value: { name: "Ada's" } } } } },
      },
      responses: {},
    },
  } as unknown as Placed;
  const { stdout } = spawnSync(
    'sh',
    ['-c', `curl() { printf '%s\\n' "$@"; }; URL=http://host OPERATOR_TOKEN=secret; ${curlOf(placed)}`],
    { encoding: 'utf8' },
  );
  t.same(stdout.split('\n').slice(0, 9), [
    ...[
      '-X',
      'PATCH',
      'http://host/things/thing_1?limit=10',
      '-H',
      'Authorization: Bearer secret',
      '-H',
      'Idempotency-Key: once',
      '-H',
      'Content-Type: application/json',
    ],
  ]);
  t.same(JSON.parse(stdout.slice(stdout.indexOf('-d\n') + 3)), { name: "Ada's" });
});

t.test('/docs is readable in a browser at each width and colour scheme', { skip: whyNoBrowser }, async (t) => {
  const running = await openBrowser(t);
  for (const [width, colorScheme] of [
    [360, 'light'],
    [1440, 'light'],
    [1440, 'dark'],
  ] as const) {
    const context = await running.newContext({ viewport: { width, height: 900 }, colorScheme });
    await t.test(`${width} px, ${colorScheme}`, async (t) => looked(t, await context.newPage(), width));
    await context.close();
  }
});

async function looked(t: Test, page: Page, width: number): Promise<void> {
  page.setDefaultTimeout(patience);
  const complaints: string[] = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('request', (request) => request.url() !== `${house.url}/docs` && complaints.push(request.url()));
  await page.goto(`${house.url}/docs`);
  t.same(
    [await page.evaluate(overflow), await page.evaluate("getComputedStyle(document.querySelector('h1')).fontSize")],
    [0, '20px'],
    'it is styled and fits',
  );
  if (width < 800) await page.click('text=Contents');
  await page.click('nav a[href="#post_sessions_id_chat"]');
  const heading = page.locator('#post_sessions_id_chat h3');
  t.match(await heading.textContent(), /^POST\s+\/sessions\/\{id\}\/chat$/);
  const { y } = (await heading.boundingBox())!;
  t.ok(y >= 0 && y < 200, `what was chosen is at the top (${y})`);
  t.equal(
    await page.locator('nav a[href="#get_usage"]').isVisible(),
    width >= 800,
    'a choice closes the contents on a phone',
  );
  await page.click('#post_sessions_id_chat summary:has-text("Failures")');
  t.ok(await page.locator('#post_sessions_id_chat td:has-text("turn_in_progress")').isVisible());
  t.same(await page.evaluate(faintTexts), [], 'every text has a contrast of 4.5 : 1');
  t.same(complaints, [], 'nothing is refused, and nothing else is asked for');
}
