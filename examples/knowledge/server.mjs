/** An MCP server over a folder of Markdown: an assistant that has it as a tool looks things up in it. */
import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { timingSafeEqual } from 'node:crypto';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import MiniSearch from 'minisearch';

const { FOLDER = 'notes', TOKEN, PORT = '8090' } = process.env;
if (!TOKEN) throw new Error('TOKEN is the secret that callers must send');

/** The sections of the files: each heading with the text below it. */
async function sections() {
  const files = (await readdir(FOLDER, { recursive: true })).filter((name) => name.endsWith('.md'));
  const texts = await Promise.all(files.map(async (file) => [file, await readFile(join(FOLDER, file), 'utf8')]));
  return texts.flatMap(([file, text]) => text.split(/^(?=#{1,6} )/m).map((part, at) => ({ id: `${file}#${at}`, title: part.match(/^#{1,6} (.*)/)?.[1] ?? file, text: part.trim() })));
}

/** Indexes the folder as it is now. */
async function indexed() {
  const index = new MiniSearch({ fields: ['title', 'text'], storeFields: ['title', 'text'], searchOptions: { boost: { title: 2 }, prefix: true, fuzzy: 0.2 } });
  index.addAll((await sections()).filter(({ text }) => text !== ''));
  return index;
}

let index = await indexed();
process.on('SIGHUP', () => indexed().then((fresh) => (index = fresh), (error) => console.error(error)));

const search = {
  name: 'search_notes',
  description: 'Searches the notes, and returns the sections that fit best. Ask with a few words of what is sought.',
  inputSchema: { type: 'object', properties: { query: { type: 'string', description: 'A few words.' }, count: { type: 'integer', minimum: 1, maximum: 10 } }, required: ['query'] },
  annotations: { readOnlyHint: true },
};

function found({ query, count = 3 }) {
  const hits = index.search(String(query)).slice(0, count);
  return hits.length === 0 ? 'Nothing was found.' : hits.map(({ id, text }) => `[${id}]\n${text}`).join('\n\n');
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

const server = createServer(async (request, response) => {
  if (!isKnown(request)) return response.writeHead(401).end();
  const body = request.method === 'POST' ? { body: request, duplex: 'half' } : {};
  const answer = await handler.fetch(new Request('http://localhost/mcp', { method: request.method, headers: request.headers, ...body }));
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (answer.body !== null) for await (const piece of answer.body) response.write(piece);
  response.end();
});
server.on('error', ({ message }) => {
  console.error(message);
  process.exitCode = 1;
});
server.listen(Number(PORT), '127.0.0.1', () => console.log(`listens on ${server.address().port}`));
