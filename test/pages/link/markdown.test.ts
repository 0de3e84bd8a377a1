/** Markdown of a reply, in a browser: the elements that it makes, and that no text makes others. */
import { build } from 'esbuild';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { openBrowser, whyNoBrowser } from '../../browser.ts';

const source = fileURLToPath(new URL('../../../src/pages/link/markdown.ts', import.meta.url));

/** The output allowed: elements, each with its attributes beside `dir`. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  P: [],
  BR: [],
  STRONG: [],
  EM: [],
  DEL: [],
  CODE: [],
  PRE: [],
  UL: [],
  OL: ['start'],
  LI: [],
  BLOCKQUOTE: [],
  HR: [],
  H2: [],
  H3: [],
  H4: [],
  H5: [],
  H6: [],
  TABLE: [],
  THEAD: [],
  TBODY: [],
  TR: [],
  TH: ['class'],
  TD: ['class'],
  A: ['href', 'target', 'rel'],
  SPAN: ['class'],
};

const examples: readonly (readonly [string, string])[] = [
  ['Hello', '<p>Hello</p>'],
  ['one\ntwo  \nthree\n\nfour', '<p>one<br>two<br>three</p><p>four</p>'],
  [
    '*a* _b_ **c** __d__ ~~e~~ ***f***',
    '<p><em>a</em> <em>b</em> <strong>c</strong> <strong>d</strong> <del>e</del> <strong><em>f</em></strong></p>',
  ],
  ['2 * 3 * 4, snake_case_name, 5*6*7, * a', '<p>2 * 3 * 4, snake_case_name, 5<em>6</em>7, * a</p>'],
  ['**bold *and* more** **open', '<p><strong>bold <em>and</em> more</strong> **open</p>'],
  ['`code` ``a ` b`` `open', '<p><code>code</code> <code>a ` b</code> `open</p>'],
  ['\\*not\\* \\`this\\` \\a', '<p>*not* `this` \\a</p>'],
  ['# One\n## Two ##\n####### seven', '<h2>One</h2><h3>Two</h3><p>####### seven</p>'],
  ['- a\n- b\n  - c\n\n  d\n- e', '<ul><li>a</li><li>b<ul><li>c</li></ul><p>d</p></li><li>e</li></ul>'],
  ['3. a\n4. b\n   * c', '<ol start="3"><li>a</li><li>b<ul><li>c</li></ul></li></ol>'],
  ['1. a\n\n2. b', '<ol><li>a</li><li>b</li></ol>'],
  ['text\n- a', '<p>text</p><ul><li>a</li></ul>'],
  ['> a\n> > b', '<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote>'],
  ['```js\nlet a = "<b>";\n\n```\nafter', '<pre><code>let a = "&lt;b&gt;";\n</code></pre><p>after</p>'],
  ['~~~\nopen', '<pre><code>open</code></pre>'],
  ['---\n***', '<hr><hr>'],
  [
    '| a | b |\n|---|--:|\n| 1 | 2 |\n| 3 |',
    '<table><thead><tr><th>a</th><th class="right">b</th></tr></thead><tbody><tr><td>1</td><td class="right">2</td></tr><tr><td>3</td><td class="right"></td></tr></tbody></table>',
  ],
  [
    '| a | b |\n|---|---|\n| one<br>two<BR/> three | `<br>` &lt;br> |',
    '<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>one<br>two<br> three</td><td><code>&lt;br&gt;</code> &amp;lt;br&gt;</td></tr></tbody></table>',
  ],
  ['one<br />two <br x> <brr> \\<br> <b', '<p>one<br>two &lt;br x&gt; &lt;brr&gt; &lt;br&gt; &lt;b</p>'],
  [
    '<b>raw</b> & <img src=x onerror=alert(1)>',
    '<p>&lt;b&gt;raw&lt;/b&gt; &amp; &lt;img src=x onerror=alert(1)&gt;</p>',
  ],
  [
    '[a](javascript:alert(1)) [b](data:text/html,x) [c](/path) [d](java\tscript:x)',
    '<p>[a](javascript:alert(1)) [b](data:text/html,x) [c](/path) [d](java\tscript:x)</p>',
  ],
];

const anchor = (href: string, text: string, host = ''): string =>
  `<a href="${href}" target="_blank" rel="noopener noreferrer nofollow ugc">${text}</a>${host && `<span class="host" dir="ltr"> (${host})</span>`}`;
const links: readonly (readonly [string, string])[] = [
  ['[the menu](https://a.example/b)', anchor('https://a.example/b', 'the menu', 'a.example')],
  ['[a.example](https://a.example/b)', anchor('https://a.example/b', 'a.example')],
  [
    '[https://good.example](https://bad.example/)',
    anchor('https://bad.example/', 'https://good.example', 'bad.example'),
  ],
  [
    '[good.example/bad.example](https://bad.example/)',
    anchor('https://bad.example/', 'good.example/bad.example', 'bad.example'),
  ],
  [
    'https://good.example@bad.example/x',
    anchor('https://bad.example/x', 'https://good.example@bad.example/x', 'bad.example'),
  ],
  ['(see https://a.example/b_(c).)', `(see ${anchor('https://a.example/b_(c)', 'https://a.example/b_(c)')}.)`],
  ['**https://a.example**', `<strong>${anchor('https://a.example/', 'https://a.example')}</strong>`],
  ['<https://a.example/?a=b&c>', anchor('https://a.example/?a=b&amp;c', 'https://a.example/?a=b&amp;c')],
  [
    '<mailto:a@b.example> [me](mailto:a@b.example)',
    `${anchor('mailto:a@b.example', 'mailto:a@b.example')} ${anchor('mailto:a@b.example', 'me', 'a@b.example')}`,
  ],
  [
    '[+49 (30) 12-34](tel:+49301234) <tel:112> [us](tel:+49301234) [+49 30 1](tel:+4990099)',
    `${anchor('tel:+49301234', '+49 (30) 12-34')} ${anchor('tel:112', 'tel:112')} ${anchor('tel:+49301234', 'us', '+49301234')} ${anchor('tel:+4990099', '+49 30 1', '+4990099')}`,
  ],
  [
    '[a](tel:%2A21%2A0900%23) [b](tel:+49?x) [c](tel:*#06#) [d](tel:) [e](tel:javascript)',
    '[a](tel:%2A21%2A0900%23) [b](tel:+49?x) [c](tel:*#06#) [d](tel:) [e](tel:javascript)',
  ],
  ['![a cat](https://a.example/cat.png?secret)', anchor('https://a.example/cat.png?secret', 'a cat', 'a.example')],
  ['![](https://a.example/cat.png)', anchor('https://a.example/cat.png', 'https://a.example/cat.png')],
  [
    '[a [b](https://b.example) c](https://a.example)',
    `[a ${anchor('https://b.example/', 'b', 'b.example')} c](${anchor('https://a.example/', 'https://a.example')})`,
  ],
  [
    '[**a** `b`](https://a.example "title")',
    anchor('https://a.example/', '<strong>a</strong> <code>b</code>', 'a.example'),
  ],
  ['[1] and [x]: y', '[1] and [x]: y'],
];

/** Texts that were made to break out, and pieces of them put together by chance. */
const pieces = [
  ...[
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '<svg/onload=alert(1)>',
    '<iframe srcdoc="<b>">',
    '</p></div>',
    '<!--',
    '-->',
    '<![CDATA[',
    '&lt;b&gt;',
    '&#x6a;avascript:',
    '<a href="javascript:x">',
    '<style>*{}</style>',
    '<math><mi//xlink:href="data:x,y">',
  ],
  ...[
    '[a](',
    '[a](javascript:alert(1))',
    '[a](JaVaScRiPt:x)',
    '[a](java\nscript:x)',
    '[a](\u0001javascript:x)',
    '[a](data:text/html;base64,PHN2Zz4=)',
    '[a](vbscript:x)',
    '[a](tel:+49 30)',
    '<tel:+4930>',
    '<br>',
    '<br onclick=x>',
    '<br/',
    '[a](blob:https://a.example/1)',
    '[a](file:///etc)',
    '[a](//a.example)',
    '[a](https://a.example" onclick="x)',
    "[a](https://a.example' style='x)",
    '[a](<https://a.example>)',
    '![x](https://a.example/"onerror=x)',
    '<https://a.example/"onmouseover=x>',
    '<javascript:x>',
    '[a]: javascript:x',
    '[a][b]',
    '](',
    ')',
    '[',
    ']',
    '![',
  ],
  ...[
    '**',
    '*',
    '__',
    '_',
    '~~',
    '~',
    '`',
    '``',
    '```',
    '~~~\n',
    '```html\n',
    '# ',
    '###### ',
    '- ',
    '1. ',
    '999999999. ',
    '> ',
    '| a | b |\n|---|---|\n',
    '|',
    '\n',
    '\n\n',
    '    ',
    '\t',
    '---\n',
    '***\n',
    '\\',
    '\\[',
    '\0',
    '\u202e',
    '\u2028',
    '\ufeff',
    '😀',
    '\ud83d',
    'مرحبا',
    '日本',
    'word ',
    'https://a.example/',
    'http://[',
    'https://a.example:99999/',
    'mailto:a@b.example?body=x',
    '"',
    "'",
    '{{7*7}}',
    '${x}',
    '%0a',
    'constructor',
    '__proto__',
  ],
];

t.test('Markdown is shown safely in a browser', { skip: whyNoBrowser }, async (t) => {
  const browser = await openBrowser(t);
  const page = await browser.newPage();
  page.setDefaultTimeout(300_000);
  const { outputFiles } = await build({
    entryPoints: [source],
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'made',
    target: 'chrome120',
  });
  await page.evaluate(outputFiles[0]!.text.replace('var made', 'globalThis.made'));
  const shown = (text: string, open = false): Promise<string> =>
    page.evaluate(
      `(() => { const into = document.createElement('div'); new made.Markdown(into).show(${JSON.stringify(text)}, ${open}); return into.innerHTML.replaceAll(' dir="auto"', ''); })()`,
    ) as Promise<string>;

  await t.test('Markdown is rendered as the examples show', async (t) => {
    for (const [text, html] of examples) t.equal(await shown(text), html, JSON.stringify(text));
    for (const [text, html] of links) t.equal(await shown(text), `<p>${html}</p>`, JSON.stringify(text));
  });

  await t.test('text that goes on is shown as if it ended well', async (t) => {
    t.equal(await shown('a **b *c', true), '<p>a <strong>b <em>c</em></strong></p>');
    t.equal(await shown('a `b', true), '<p>a <code>b</code></p>');
    t.equal(await shown('done **b\n\n- x **y', true), '<p>done **b</p><ul><li>x <strong>y</strong></li></ul>');
  });

  await t.test('a finished block stays the same node while the text grows', async (t) => {
    const [kept, html] = (await page.evaluate(`(() => {
      const into = document.createElement('div'), shows = new made.Markdown(into), text = 'One\\n\\n- two\\n- **three**\\n\\nFour';
      shows.show('One\\n\\n- t', true);
      const [first] = into.children;
      for (let length = 8; length <= text.length; length++) shows.show(text.slice(0, length), length < text.length);
      return [first === into.firstChild, into.innerHTML.replaceAll(' dir="auto"', '')];
    })()`)) as [boolean, string];
    t.equal(kept, true);
    t.equal(html, '<p>One</p><ul><li>two</li><li><strong>three</strong></li></ul><p>Four</p>');
  });

  await t.test('10,000 hostile texts make no element and no attribute that is not on the list', async (t) => {
    const offences = (await page.evaluate(`(() => {
      const allowed = ${JSON.stringify(allowed)}, pieces = ${JSON.stringify(pieces)};
      let seed = 20261123;
      const drawn = (count) => { seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0; return Math.floor(seed / 2 ** 32 * count); };
      const offences = new Set();
      let elements = 0;
      for (let round = 0; round < 10000; round++) {
        const text = Array.from({ length: 1 + drawn(24) }, () => pieces[drawn(pieces.length)]).join('');
        const into = document.createElement('div');
        const shows = new made.Markdown(into);
        // Now and then as it would stream.
        if (round % 10 === 0) for (let at = 1; at < text.length; at += 7) shows.show(text.slice(0, at), true);
        shows.show(text, false);
        for (const element of into.querySelectorAll('*')) {
          elements++;
          const attributes = allowed[element.tagName];
          if (element.namespaceURI !== 'http://www.w3.org/1999/xhtml' || attributes === undefined) offences.add(element.tagName + ' of ' + text);
          for (const { name, value } of element.attributes) if (!['dir', ...(attributes ?? [])].includes(name)) offences.add(name + '=' + value + ' of ' + text);
          if (element.tagName !== 'A') continue;
          if (!['http:', 'https:', 'mailto:', 'tel:'].includes(element.protocol)) offences.add(element.href + ' of ' + text);
          if (element.rel !== 'noopener noreferrer nofollow ugc' || element.target !== '_blank' || element.username !== '' || element.querySelector('a') !== null) offences.add(element.outerHTML);
        }
      }
      return { elements, offences: [...offences].slice(0, 20) };
    })()`)) as { elements: number; offences: string[] };
    t.same(offences.offences, []);
    t.ok(offences.elements > 30_000, `${offences.elements} elements`);
  });

  await t.test('long texts that repeat what costs most are shown within the time of a test', async (t) => {
    for (const piece of [
      '*a',
      '**a ',
      '[',
      '](',
      '[a](',
      '`',
      '` `` ',
      '> ',
      '- \n\n',
      '- a\n\n',
      '```\n```\n',
      '# # #',
      ' \na',
      '_ _',
      '|',
      'a|\n|-|\n',
      'https://',
      '((((',
      '~~a',
      '\\',
      '![',
      '<https://a',
      '#',
    ]) {
      const length = (await page.evaluate(
        `(() => { const into = document.createElement('div'); new made.Markdown(into).show(${JSON.stringify(piece)}.repeat(${Math.ceil(60_000 / piece.length)}), false); return into.childNodes.length; })()`,
      )) as number;
      t.ok(length > 0, JSON.stringify(piece));
    }
  });
});
