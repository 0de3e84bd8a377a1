/** The receiver of docs/webhooks.md, as a separate process: it accepts what a server sends, and nothing else. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { freePort } from '../../../bench/harness/process.ts';
import { signatureHeaders } from '../../../src/providers/tool/signature.ts';
import { openHouse } from '../../api/house.ts';
import { run } from '../../cli/support.ts';
import { temporaryFolder } from '../../folders.ts';
import { parted } from '../../markdown.ts';

interface Receiver {
  readonly port: number;
  readonly url: string;
  /** Resolves once its output has the text. */
  printed(text: string): Promise<void>;
}

async function start(t: Test, secret: string, port: number): Promise<Receiver> {
  const page = await readFile(new URL('../../../docs/webhooks.md', import.meta.url), 'utf8');
  const program = parted(page).code.find((code) => code.startsWith('import '))!;
  const folder = await temporaryFolder(t);
  await writeFile(join(folder, 'receiver.mjs'), program);
  const child = spawn(process.execPath, ['receiver.mjs'], {
    cwd: folder,
    env: { PATH: process.env.PATH, PORT: String(port), WEBHOOK_SECRET: secret },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (output += piece));
  const printed = async (text: string): Promise<void> => {
    while (!output.includes(text)) await once(child.stdout, 'data');
  };
  await printed('Listening');
  return { port, url: `http://127.0.0.1:${port}/`, printed };
}

const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const body = JSON.stringify({ type: 'turn.completed', data: { metadata: { name: 'Zoë' } } });
const nowSeconds = Math.floor(Date.now() / 1000);
const signed = (at = nowSeconds, secrets = [secret]) => signatureHeaders('dlv_1', at, body, secrets);

t.test('the receiver accepts a signed event', async (t) => {
  const { url, printed } = await start(t, secret, await freePort());
  const post = async (headers: Record<string, string>, sent = body) =>
    (await fetch(url, { method: 'POST', headers, body: sent })).status;
  const other = `whsec_${Buffer.alloc(24, 8).toString('base64')}`;
  t.equal(await post(signed()), 204);
  await printed('Zoë');
  t.equal(await post(signed(nowSeconds, [other, secret])), 204, 'one of two signatures is enough');
});

t.test('the receiver rejects what is not signed with its secret, and lives on', async (t) => {
  const { url, port } = await start(t, secret, await freePort());
  const post = async (headers: Record<string, string>, sent = body) =>
    (await fetch(url, { method: 'POST', headers, body: sent })).status;
  const other = `whsec_${Buffer.alloc(24, 8).toString('base64')}`;
  const without = (name: string) => Object.fromEntries(Object.entries(signed()).filter(([each]) => each !== name));
  const signature = signed()['webhook-signature']!;
  const cases: readonly (readonly [what: string, headers: Record<string, string>, sent?: string])[] = [
    ['another secret', signed(nowSeconds, [other])],
    ['another body', signed(), `${body} `],
    ['another id', { ...signed(), 'webhook-id': 'dlv_2' }],
    ['another time', { ...signed(), 'webhook-timestamp': String(nowSeconds + 1) }],
    ['an old event', signed(nowSeconds - 400)],
    ['no time', without('webhook-timestamp')],
    ['no signature', without('webhook-signature')],
    ['another version', { ...signed(), 'webhook-signature': signature.replace('v1,', 'v2,') }],
    ['a cut signature', { ...signed(), 'webhook-signature': signature.slice(0, -2) }],
    ['an empty signature', { ...signed(), 'webhook-signature': 'v1,' }],
    ['no header', {}],
  ];
  for (const [what, headers, sent] of cases) t.equal(await post(headers, sent), 401, what);
  const socket = connect(port, '127.0.0.1');
  socket.write('POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 100\r\n\r\n{');
  socket.end();
  await once(socket.resume(), 'close');
  t.equal(await post(signed()), 204, 'after a request that was cut');
});

t.test('the receiver prints the event of a turn, and the delivery is listed as delivered', async (t) => {
  const house = await openHouse(t, { env: { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' } });
  const env = { PARLEY_URL: house.url, PARLEY_OPERATOR_TOKEN: house.operatorToken };
  const port = await freePort();
  const created = await run(['webhooks', 'create', `http://127.0.0.1:${port}/`, '--json'], { env });
  t.equal(created.code, 0, created.stderr);
  const webhook = JSON.parse(created.stdout);
  const receiver = await start(t, webhook.secret, port);
  const session = await house.session((await house.assistant()).id);
  const turn = await house.stream(`/sessions/${session.id}/chat`, { body: { message: 'Hello' } });
  await turn.rest();
  await receiver.printed(turn.turnId);
  await receiver.printed('turn.completed');
  const deliveries = async (): Promise<string> => (await run(['webhooks', 'deliveries', webhook.id], { env })).stdout;
  let listed = await deliveries();
  while (listed.includes('pending')) listed = await deliveries();
  t.match(listed, /^dlv_\w+ +turn\.completed +delivered +1 +-$/m);
  const [id] = /dlv_\w+/.exec(listed)!;
  const retried = await run(['webhooks', 'retry', webhook.id, id], { env });
  t.same(retried, { code: 0, stdout: `The delivery ${id} is sent again now.\n`, stderr: '' });
});
