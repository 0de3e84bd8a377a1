/** An MCP server over a folder of Markdown: an assistant that has it as a tool looks things up in it. */
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { timingSafeEqual } from 'node:crypto';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import MiniSearch from 'minisearch';
import { passageOf, processTerm, sectionsIn, tokenize } from './sections.mjs';

const { FOLDER = 'notes', TOKEN, PORT = '8090' } = process.env;
if (!TOKEN) {
  console.error('Set TOKEN to the secret that callers must send: TOKEN=secret npm start');
  process.exit(1);
}

/** A longer section is cut around what was found in it. */
const sectionCharactersMax = 1500;
const queryCharactersMax = 500;
const bodyBytesMax = 1024 * 1024;

/** Indexes the folder as it is now. */
async function indexed() {
  const index = new MiniSearch({ fields: ['title', 'text'], storeFields: ['title', 'text'], tokenize, processTerm, searchOptions: { boost: { title: 2 }, prefix: true, fuzzy: 0.2 } });
  index.addAll(await sectionsIn(FOLDER, (sentence) => console.error(sentence)));
  return index;
}

let index = await indexed();
process.on('SIGHUP', () => indexed().then((fresh) => (index = fresh), (error) => console.error(error.message)));

const search = {
  name: 'search_notes',
  description: 'Searches the notes, and returns the sections that fit best. Ask with a few words of what is sought.',
  inputSchema: { type: 'object', properties: { query: { type: 'string', description: 'A few words.' }, count: { type: 'integer', minimum: 1, maximum: 10 } }, required: ['query'] },
  annotations: { readOnlyHint: true },
};

function found({ query, count }) {
  const most = Math.min(10, Math.max(1, Math.trunc(Number(count ?? 3)) || 3));
  const hits = index.search(String(query).slice(0, queryCharactersMax)).slice(0, most);
  return hits.length === 0 ? 'Nothing was found.' : hits.map(({ id, text, terms }) => `[${id}]\n${passageOf(text, terms, sectionCharactersMax)}`).join('\n\n');
}

/** A server for one request: the protocol needs no sessions for this. */
function serverOfNotes() {
  const server = new Server({ name: 'notes', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/list', () => ({ tools: [search] }));
  server.setRequestHandler('tools/call', ({ params: { name, arguments: given } }) => {
    if (name !== search.name || !given?.query) return { isError: true, content: [{ type: 'text', text: 'No such tool, or no query.' }] };
    return { content: [{ type: 'text', text: found(given) }] };
  });
  return server;
}

const handler = createMcpHandler(serverOfNotes);
const wanted = Buffer.from(`Bearer ${TOKEN}`);

/** Whoever does not send the token is refused. */
function isKnown({ headers: { authorization = '' } }) {
  const given = Buffer.from(authorization);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

/** The body of a request; null if it is too large. Rejects if it does not come to its end. */
async function bodyOf(request) {
  const pieces = [];
  let bytes = 0;
  for await (const piece of request.iterator({ destroyOnReturn: false })) {
    bytes += piece.length;
    if (bytes > bodyBytesMax) return null;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

async function answer(request, response) {
  if (!isKnown(request)) return response.writeHead(401).end();
  // The protocol without sessions has no other method.
  if (request.method !== 'POST') return response.writeHead(405, { allow: 'POST' }).end();
  const body = await bodyOf(request);
  if (body === null) return response.writeHead(413, { connection: 'close' }).end();
  const given = await handler.fetch(new Request('http://localhost/mcp', { method: 'POST', headers: request.headers, body }));
  response.writeHead(given.status, Object.fromEntries(given.headers));
  if (given.body === null) return response.end();
  return pipeline(Readable.fromWeb(given.body), response);
}

const server = createServer((request, response) => {
  // A client that disconnects during a request or its answer must not stop the server for others.
  answer(request, response).catch((error) => {
    if (!request.aborted && !response.destroyed) console.error(error.message);
    response.headersSent ? response.destroy() : response.writeHead(400).end();
  });
});
server.on('error', ({ code, message }) => {
  console.error(code === 'EADDRINUSE' ? `The port ${PORT} is in use. Set PORT to a free one.` : message);
  process.exit(1);
});
server.listen(Number(PORT), '127.0.0.1', () => console.log(`listens on ${server.address().port}`));
