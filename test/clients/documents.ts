/**
 * The blocks and tables of docs/clients.md, as somebody reads them: the blocks are run, with another address, key and
 * model alone, and trust in the test's certificate.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { transform } from 'esbuild';
import type { Test } from 'tap';
import manifest from '../../package.json' with { type: 'json' };
import type { House } from '../api/house.ts';
import { synthetic } from '../api/talk.ts';
import { tableSeen } from './failures.ts';
import { realtimeEntry, secured } from './realtime.ts';
import { agentsPackage, aiSdkOpenai } from './sdks.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const page = readFileSync(join(root, 'docs', 'clients.md'), 'utf8');

/** Codes that no path of OpenAI's API answers with. */
const elsewhere = [
  'invalid_token',
  'assistant_not_found',
  'invalid_range',
  'message_too_long',
  'role_not_permitted',
  'draft_changed',
  'tests_not_passed',
  'version_not_found',
];

export async function documents(t: Test, house: House): Promise<void> {
  await synthetic(house, 'call=look_up,tokens=3', {
    alias: 'support',
    channels: { voice: true },
    voice: { provider: 'synthetic', name: 'character_ms=5' },
  });
  const { port, trust } = await secured(t, house.url);
  // The folder next to the packages, which the blocks import by name.
  const cache = join(root, 'node_modules', '.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'parley-clients-'));
  t.teardown(async () => rmSync(folder, { recursive: true, force: true }));
  const blocks = [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, block]) => block!);
  t.ok(blocks.length >= 11, `${blocks.length} blocks`);
  for (const [index, block] of blocks.entries()) {
    if (block.includes('@openai/agents') && agentsPackage.why !== null) continue;
    if (block.includes("@ai-sdk/openai'") && aiSdkOpenai.why !== null) continue;
    t.ok(block.trimEnd().split('\n').length <= 10, 'ten lines each');
    const own = block
      .replaceAll('http://127.0.0.1:8080', house.url)
      .replaceAll('ws://127.0.0.1:8080', house.url.replace('http', 'ws'))
      .replaceAll('https://your.host', `https://127.0.0.1:${port}`)
      .replace(
        "OpenAIRealtimeWS({ model: 'support'",
        `OpenAIRealtimeWS({ options: ${JSON.stringify(trust)}, model: 'support'`,
      )
      .replaceAll('ak_…', house.key)
      .replace("'@ai-sdk/openai'", `'${pathToFileURL(aiSdkOpenai.entry ?? '').href}'`)
      .replace("'@openai/agents'", `'${pathToFileURL(agentsPackage.entry ?? '').href}'`)
      .replace("'@openai/agents/realtime'", `'${pathToFileURL(realtimeEntry ?? '').href}'`);
    const { code } = await transform(
      `const said: string[] = [];\nconst console = { log: (...texts: unknown[]) => void said.push(texts.join(' ')) };\nconst process = { stdout: { write: (text: string) => said.push(text) } };\n${own}\nexport default said.join('');`,
      { loader: 'ts', format: 'esm' },
    );
    const path = join(folder, `${index}.mjs`);
    writeFileSync(path, code);
    const { default: said } = (await import(pathToFileURL(path).href)) as { default: string };
    t.match(said, /^word word word /, block);
  }
}

/** The table of failures, by class, status and how often the client asks; and the versions that were run. */
export async function tables(t: Test): Promise<void> {
  const counts: Readonly<Record<number, string>> = { 1: 'once', 3: 'three times' };
  const rows = new Map<string, Set<string>>();
  for (const { code, status, class: name, asked } of await tableSeen()) {
    const row = `| \`${name}\` | ${status} | ${counts[asked]} |`;
    if (!elsewhere.includes(code)) rows.set(row, (rows.get(row) ?? new Set()).add(code));
  }
  const seen = [...rows].map(
    ([row, codes]) =>
      `${row} ${[...codes]
        .sort()
        .map((code) => `\`${code}\``)
        .join(' ')} |`,
  );
  t.same([...page.matchAll(/^\| `\w+Error` \|.*$/gm)].map(([row]) => row).sort(), seen.sort());
  const versions = Object.entries({ ...manifest.devDependencies, ...manifest.dependencies });
  for (const name of [
    'openai',
    'ai',
    '@ai-sdk/openai-compatible',
    '@ai-sdk/open-responses',
    '@langchain/openai',
    '@modelcontextprotocol/client',
  ]) {
    const version = versions.find(([one]) => one === name)![1];
    const told = [...page.matchAll(new RegExp(`\`${name}\`(?:\\]\\([^)]*\\))? (\\d+\\.\\d+\\.\\d+)`, 'g'))].map(
      ([, one]) => one,
    );
    t.same([...new Set(told)], [version], name);
  }
}
