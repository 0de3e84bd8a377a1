/** The MCP server of the examples, as a separate process, given to an assistant by the commands of its README. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { chmod, cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { openHouse } from '../api/house.ts';
import { run } from '../cli/support.ts';
import { temporaryFolder } from '../folders.ts';

const serverFile = fileURLToPath(new URL('../../examples/knowledge/server.mjs', import.meta.url));
const example = dirname(serverFile);
const root = dirname(dirname(example));

interface Started {
  readonly url: string;
  /** The output on stderr so far. */
  readonly said: () => string;
}

/** Starts the server where its packages are installed, on its own notes or on others. */
async function start(t: Test, token: string, notes?: string): Promise<Started> {
  const folder = await temporaryFolder(t);
  await cp(example, folder, { recursive: true, filter: (path) => !path.includes('node_modules') });
  await mkdir(join(folder, 'node_modules'));
  for (const name of ['@modelcontextprotocol', 'minisearch'])
    await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  const child = spawn(process.execPath, ['server.mjs'], {
    cwd: folder,
    env: { PATH: process.env.PATH, TOKEN: token, PORT: '0', ...(notes !== undefined && { FOLDER: notes }) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (piece: string) => (said += piece));
  t.teardown(() => child.kill('SIGKILL'));
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data');
  return { url: `http://127.0.0.1:${/listens on (\d+)/.exec(line)![1]}/mcp`, said: () => said };
}

/** The commands of the example's README as arguments, and the output that it shows of the last one. */
async function shown(): Promise<{ commands: string[][]; token: string; output: string }> {
  const text = await readFile(join(root, 'examples', 'knowledge', 'README.md'), 'utf8');
  const [, script, output] = /```sh\n([^]*?)```\n\n```\n([^]*?)```/.exec(text)!;
  const lines = script!.split('\n').filter((line) => line.startsWith('npx parley '));
  const commands = lines.map((line) =>
    [...line.replace(/ +# .*$/, '').matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare!).slice(2),
  );
  return { commands, token: /TOKEN=(\S+)/.exec(script!)![1]!, output: output! };
}

t.test('an assistant finds what the notes say', async (t) => {
  const { commands, token, output } = await shown();
  const { url } = await start(t, token);
  const house = await openHouse(t, { env: { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' } });
  t.equal((await fetch(url, { method: 'POST', body: '{}' })).status, 401, 'nobody without the token');

  const env = { PARLEY_URL: house.url, PARLEY_OPERATOR_TOKEN: house.operatorToken, PARLEY_API_KEY: house.key };
  let last = '';
  for (const command of commands) {
    const { code, stdout, stderr } = await run(
      command.map((word) => (word === 'http://127.0.0.1:8090/mcp' ? url : word)),
      { env },
    );
    t.equal(code, 0, `${command.join(' ')}: ${stdout}${stderr}`);
    last = stdout;
  }
  t.equal(last.trim(), output.trim());
  const { json } = await house.console(`/workspaces/${house.workspaceId}/sessions`);
  const { json: transcript } = await house.console(
    `/workspaces/${house.workspaceId}/sessions/${json.data[0].id}/transcript`,
  );
  t.match(transcript.data.at(-1).tool_calls, [
    { status: 'completed', output: /^\[orders\.md#1\]\n## Delivery times\n\nParcels take two days/ },
  ]);
});

/** A search by a caller of the protocol of 2026-07-28. */
async function search(url: string, query: string, count = 3): Promise<string> {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const headers = {
    authorization: 'Bearer secret',
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'search_notes',
  };
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'search_notes', arguments: { query, count }, _meta: meta },
  });
  const text = await (await fetch(url, { method: 'POST', headers, body })).text();
  return JSON.parse(text.replace(/^[^]*?data: /, '')).result.content[0].text;
}

const filler = (words: string): string => `${words} `.repeat(400);

t.test(
  'sections are found in long texts, beside code, and in scripts without spaces; what cannot be read is left out',
  async (t) => {
    const notes = await temporaryFolder(t);
    await mkdir(join(notes, 'deep', 'shut'), { recursive: true });
    const files: Readonly<Record<string, string | Buffer>> = {
      'long.md': `# Long\n\n${filler('lorem ipsum 😀')}The zebra crosses at noon. ${filler('dolor sit 😀')}`,
      'code.md':
        '# Setup\n\n```sh\n# walrus is no heading\nnpm start\n````\n\n~~~\n```\n# neither is this\n~~~\n\nThe walrus sleeps.\n\n## Teardown\n\nDone.\n',
      'japanese.md':
        '# 返品\n\n返品は購入後三十日以内に受け付けます。送料はお客様の負担です。\n\n# 営業時間\n\n月曜日から金曜日まで営業しています。\n',
      'chinese.md': '# 退货\n\n我们的退货期限是三十天，运费由客户承担。\n\n# 营业时间\n\n星期一到星期五营业。\n',
      'deep/crlf.md': '# One\r\n\r\nThe heron waits.\r\n# Two\r\n\r\nThe ibis flies.\r\n',
      'binary.md': Buffer.from([0xff, 0xfe, 0x00, 0xd8]),
      'deep/shut/inner.md': '# Shut\n\nNobody reads this.',
    };
    for (const [name, content] of Object.entries(files)) await writeFile(join(notes, name), content);
    await mkdir(join(notes, 'folder.md'));
    await symlink(join(notes, 'gone'), join(notes, 'broken.md'));
    await symlink('..', join(notes, 'deep', 'loop'));
    await chmod(join(notes, 'deep', 'shut'), 0);
    t.teardown(() => chmod(join(notes, 'deep', 'shut'), 0o700));
    const { url, said } = await start(t, 'secret', notes);

    const long = await search(url, 'zebra', 1);
    t.match(long, /^\[long\.md#0\]\n… [^]*The zebra crosses at noon\.[^]* …$/);
    t.ok(long.length < 1600 && long.isWellFormed());
    t.match(
      await search(url, 'walrus', 1),
      /^\[code\.md#0\]\n# Setup[^]*# walrus is no heading[^]*# neither is this[^]*The walrus sleeps\.$/,
    );
    t.match(await search(url, 'teardown', 1), /^\[code\.md#1\]\n## Teardown\n\nDone\.$/);
    t.match(await search(url, '返品はいつまでですか', 1), /^\[japanese\.md#0\]/);
    t.match(await search(url, '金曜日', 1), /^\[japanese\.md#1\]/);
    t.match(await search(url, '退货期限', 1), /^\[chinese\.md#0\]/);
    t.match(await search(url, '星期五', 1), /^\[chinese\.md#1\]/);
    t.match(await search(url, 'ibis', 1), /^\[deep\/crlf\.md#1\]\n# Two\n\nThe ibis flies\.$/);
    for (const name of ['binary.md', 'broken.md', 'shut'])
      if (name !== 'shut' || process.getuid?.() !== 0) t.match(said(), new RegExp(`${name} is left out: `));
  },
);

t.test('an odd request, or one that ends in the middle, leaves the server up', async (t) => {
  const { url } = await start(t, 'secret');
  const { port } = new URL(url);
  /** The status line that raw bytes are answered with; empty if the connection ends without one. */
  const raw = async (text: string, then: 'waits' | 'leaves' = 'waits'): Promise<string> => {
    const socket = connect(Number(port), '127.0.0.1');
    let got = '';
    socket.setEncoding('latin1').on('data', (piece: string) => {
      got += piece;
      if (got.includes('\r\n')) socket.destroy();
    });
    socket.on('error', () => {});
    const closed = once(socket, 'close');
    await once(socket, 'connect');
    if (then === 'leaves') socket.end(text);
    else socket.write(text);
    await closed;
    return got.split('\r\n', 1)[0]!;
  };
  const head = 'Host: localhost\r\nAuthorization: Bearer secret\r\n';
  for (const method of ['TRACE', 'GET', 'HEAD', 'DELETE', 'OPTIONS', 'PROPFIND'])
    t.match(await raw(`${method} /mcp HTTP/1.1\r\n${head}\r\n`), /^HTTP\/1\.1 405 /, method);
  t.match(await raw('TRACE /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n'), /^HTTP\/1\.1 401 /);
  t.match(
    await raw(`POST /mcp HTTP/1.1\r\n${head}Content-Length: 2097152\r\n\r\n${'x'.repeat(1_100_000)}`),
    /^HTTP\/1\.1 413 /,
  );
  await raw(
    `POST /mcp HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"jsonrpc"`,
    'leaves',
  );
  await raw(`POST /mcp HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n5\r\n{"a`, 'leaves');
  await raw('CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n');
  t.match(await search(url, 'delivery', 1), /Delivery times/);
});
