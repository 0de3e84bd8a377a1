/**
 * `GET /` for people: what this is, and the ways to the console and to the reference; and the icon of all pages. The
 * page has no script and says nothing of any assistant.
 */
import { createHash } from 'node:crypto';
import { Html, html } from './reference/docs/html.ts';
import { ground } from './reference/docs/style.ts';
import { crc32, deflateSync } from 'node:zlib';

const style = `${ground}body { max-width: 560px; padding: 15vh 24px 64px; margin: 0 auto; }
h1 { font-size: 20px; line-height: 1.3; letter-spacing: -.015em; margin: 0 0 4px; }
p { margin: 0; color: var(--soft); }
ul { list-style: none; margin: 32px 0 0; padding: 0; border-top: 1px solid var(--line); }
li { border-bottom: 1px solid var(--line); }
li a { display: grid; padding: 12px 0; }
li a:hover { text-decoration: none; }
li a:hover strong { text-decoration: underline; }
strong { font-weight: 600; }
li span { color: var(--soft); }
`;

/** The policy of the reference, with an icon. */
export const frontPolicy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

const ways = [
  ['console', 'Console', 'For operators: assistants, keys, conversations as they run.'],
  ['docs', 'API reference', 'For developers: each operation, with examples.'],
] as const;

export const frontPage: string = html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>parley</title>
<link rel="icon" href="favicon.ico">
<style>${new Html(style)}</style>
<main>
<h1>parley</h1>
<p>This server runs conversations with assistants, over HTTP and on pages of its own.</p>
<ul>
${ways.map(
  ([path, name, what]) => html`<li><a href="${path}"><strong>${name}</strong><span>${what}</span></a></li>
`,
)}</ul>
</main>
</html>
`.text;

const size = 32;
const radius = 10;
const [red, green, blue] = [0x5b, 0x6a, 0xe0];

/** Coverage of a pixel by the disc, 0 to 255. */
function coverage(x: number, y: number): number {
  const distance = Math.hypot(x + 0.5 - size / 2, y + 0.5 - size / 2);
  return Math.round(255 * Math.min(1, Math.max(0, radius + 0.5 - distance)));
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

/** RGBA of 8 bits each, every row unfiltered. */
function png(): Buffer {
  const rows = Array.from({ length: size }, (_, y) => [
    0,
    ...Array.from({ length: size }, (__, x) => [red, green, blue, coverage(x, y)]).flat(),
  ]);
  const head = Buffer.alloc(13);
  head.writeUInt32BE(size, 0);
  head.writeUInt32BE(size, 4);
  head.set([8, 6, 0, 0, 0], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(Buffer.from(rows.flat()))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** A disc in the accent's colour, as a PNG within an ICO: browsers ask for it unasked. */
export function icon(): Buffer {
  const image = png();
  const head = Buffer.alloc(22);
  head.set([0, 0, 1, 0, 1, 0, size, size, 0, 0, 1, 0, 32, 0]);
  head.writeUInt32LE(image.length, 14);
  head.writeUInt32LE(head.length, 18);
  return Buffer.concat([head, image]);
}
