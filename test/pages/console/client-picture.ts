/**
 * The picture of docs/clients.md: a script for OpenAI's API, its output, and beside it the console's chart of its
 * session.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { settled, type Console } from './console.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

const script = `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: 'http://127.0.0.1:8080/v1', apiKey: 'ak_…',
  defaultHeaders: { 'X-Conversation-Id': 'ticket 4711' } });
for (const content of ['Hello', 'Count to 7']) {
  const messages = [{ role: 'user', content }];
  const asked = { model: 'support', messages, stream: true };
  console.log('you>', content);
  for await (const { choices } of await client.chat.completions.create(asked))
    process.stdout.write(choices[0]?.delta.content ?? '');
  console.log('\\n');
}`;

const style = `* { box-sizing: border-box; margin: 0; } body { width: 1520px; }
main { display: grid; grid-template-columns: 660px 860px; background: #fafaf8; color: #1d1d21; }
aside { padding: 28px 28px 28px 32px; display: grid; gap: 12px; align-content: start; border-right: 1px solid #e4e3df; }
h2 { font: 600 12px/1.5 ui-sans-serif, system-ui, "DejaVu Sans", sans-serif; color: #6a6971; } pre { font: 12px/1.7 ui-monospace, "DejaVu Sans Mono", monospace; white-space: pre-wrap; margin-bottom: 16px; }
img { display: block; }`;

const written = (line: string): string => line.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

export async function takeClientPicture(console: Console, file: string): Promise<void> {
  const { house, browser } = console;
  const { id } = await house.assistant({ name: 'support', model: { provider: 'scripted', name: 'demo' } });
  await house.console(`/workspaces/${house.workspaceId}/assistants/${id}`, {
    method: 'PATCH',
    body: { alias: 'support' },
  });
  const run = async (): Promise<string> => {
    const source = script.replace('http://127.0.0.1:8080', house.url).replace('ak_…', house.key);
    const child = spawn(process.execPath, ['--input-type=module', '--eval', source], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    if (code !== 0) throw new Error(`The script ended with ${code}.`);
    return output;
  };
  const output = await run();
  const session = (await house.ask('/sessions?limit=1')).json.data[0].id;
  const { page, complaints, context } = await console.open({ width: 860 });
  await page.setViewportSize({ width: 860, height: 700 });
  await page.goto(console.url(house.workspaceId, 'live', 'session', session));
  await settled(page);
  // The same session continues, and the page sees it.
  await run();
  await page.getByText('9 steps').waitFor();
  const chart = (await page.screenshot()).toString('base64');
  if (complaints.length > 0) throw new Error(complaints.join('\n'));
  await context.close();
  const sheet = await browser.newPage({ viewport: { width: 1520, height: 700 } });
  await sheet.setContent(
    `<style>${style}</style><main><aside><h2>talk.mjs</h2><pre>${written(script)}</pre><h2>node talk.mjs</h2><pre>${written(output)}</pre></aside><img src="data:image/png;base64,${chart}"></main>`,
  );
  await sheet.locator('main').screenshot({ path: file });
  await sheet.close();
}
