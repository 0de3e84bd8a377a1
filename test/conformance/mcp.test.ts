/**
 * The MCP server, and the caller of MCP tools, under the protocol's own conformance suite (contract 13 and 15). The
 * suite needs a newer Node than the server.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import t, { type Test } from 'tap';
import { openHouse, type House } from '../api/house.ts';
import { temporaryFolder } from '../folders.ts';
import { otherNode, otherVersions } from '../nodes.ts';
import { patient } from '../run/speed.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const suite = { name: '@modelcontextprotocol/conformance', version: '0.2.0-alpha.12' };

/** The suite's program, installed once beside the project's packages; or why it is not there. */
function conformance(): { readonly program: string } | string {
  const folder = join(here, '..', '..', 'node_modules', '.cache', `mcp-conformance-${suite.version}`);
  const program = join(folder, 'node_modules', suite.name, 'dist', 'index.js');
  if (existsSync(program)) return { program };
  mkdirSync(folder, { recursive: true });
  const args = [
    'install',
    '--prefix',
    folder,
    '--no-save',
    '--ignore-scripts',
    '--no-progress',
    '--fetch-retries=0',
    '--loglevel=error',
    `${suite.name}@${suite.version}`,
  ];
  const { status } = spawnSync('npm', args, {
    encoding: 'utf8',
    timeout: patient(120_000),
    shell: process.platform === 'win32',
  });
  return status === 0 ? { program } : 'npm has not fetched the suite';
}

/** The server's address for a client that sends no key: each request gets one on its way. */
async function withKey(house: House): Promise<string> {
  const target = new URL(house.url);
  const proxy = createServer((asked, answer) => {
    const here = (value: string | undefined) => value?.replace(/:\d+$/, `:${target.port}`);
    const { host, origin, ...headers } = asked.headers;
    const sent = request(
      {
        host: target.hostname,
        port: target.port,
        path: asked.url,
        method: asked.method,
        headers: {
          ...headers,
          host: here(host),
          ...(origin !== undefined && { origin: here(origin) }),
          authorization: `Bearer ${house.key}`,
        },
      },
      (got) => {
        answer.writeHead(got.statusCode!, got.headers);
        got.pipe(answer);
      },
    );
    sent.on('error', () => answer.destroy());
    answer.on('close', () => sent.destroy());
    asked.pipe(sent);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return `http://localhost:${(proxy.address() as AddressInfo).port}/mcp`;
}

const node = await otherNode(otherVersions[0]!);
const installed = typeof node === 'string' ? node : conformance();
const skip = typeof installed === 'string' && installed;

/** Runs the suite: its exit code, and what it prints. */
async function run(t: Test, ...args: string[]): Promise<{ code: number; said: string }> {
  if (typeof node === 'string' || typeof installed === 'string') throw new Error('the suite is not there');
  // The suite is one large file, which is compiled once for all scenarios.
  const child = spawn(node.program, [installed.program, ...args, '-o', await temporaryFolder(t)], {
    env: { ...process.env, NODE_COMPILE_CACHE: join(dirname(installed.program), 'compiled') },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { code, said: errors + output };
}

for (const revision of ['2026-07-28', '2025-11-25']) {
  t.test(`the scenarios of a server of ${revision}, but for those that are expected to fail`, { skip }, async (t) => {
    const house = await openHouse(t);
    await house.assistant({ name: 'Support', description: 'Answers.' });
    const { code, said } = await run(
      t,
      'server',
      '--url',
      await withKey(house),
      '--requirements',
      revision,
      '--expected-failures',
      join(here, `${revision}.yml`),
    );
    t.equal(code, 0, code === 0 ? 'none but those' : said.slice(said.indexOf('=== SUMMARY')));
  });
}

/**
 * The scenarios of a client that are about calls of tools; the others are about signing in, which a caller of tools
 * does not do.
 */
const scenarios = [
  'initialize',
  'tools_call',
  'request-metadata',
  'http-standard-headers',
  'http-custom-headers',
  'http-invalid-tool-headers',
  'json-schema-ref-no-deref',
  'json-schema-2020-12-preservation',
  'sse-retry',
  'sep-2322-client-request-state',
];

t.test('the scenarios of a client, but for those that are expected to fail', { skip }, async (t) => {
  // The folder next to the packages, which it imports by name; one module, since the suite starts it for each scenario.
  const folder = mkdtempSync(join(here, '..', '..', 'node_modules', '.cache', 'parley-tool-caller-'));
  t.teardown(async () => rmSync(folder, { recursive: true, force: true }));
  const program = join(folder, 'tool-caller.mjs');
  await build({
    entryPoints: [fileURLToPath(new URL('./tool-caller.ts', import.meta.url))],
    outfile: program,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'error',
  });
  const command = `"${process.execPath}" "${program}"`;
  for (const scenario of scenarios) {
    const { code, said } = await run(
      t,
      'client',
      '--command',
      command,
      '--scenario',
      scenario,
      '--expected-failures',
      join(here, 'clients.yml'),
    );
    t.equal(code, 0, code === 0 ? scenario : said.slice(-2000));
  }
});
