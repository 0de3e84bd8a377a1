/**
 * Other people's frameworks, as their own documentation sets them up; installed only when asked for (`bench/peers`).
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { message, post, type Contender, type Instance, type Surroundings } from '../harness/contender.ts';
import { freePort, Process, untilReady } from '../harness/process.ts';
import { openaiFormat, parleyFormat, type Format } from '../load/stream.ts';
import { modelName } from '../text.ts';
import { startProgram } from './simple.ts';

const folder = fileURLToPath(new URL('../peers', import.meta.url));
const installed = (): string | null =>
  existsSync(`${folder}/node_modules/.package-lock.json`) ? null : 'bench/peers is not installed';

/** Installs them from their own lockfile, without running what they would run. */
export function installPeers(): void {
  if (installed() === null) return;
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) throw new Error('The peers could not be installed.');
}

/** The stream of UI messages of the AI SDK. */
const uiMessages: Format = { text: '"delta":"', completed: 'data: [DONE]', failed: '"type":"error"' };

const program = (name: string, source: URL, format: Format, note: string): Contender => ({
  name,
  note,
  standing: 'peer',
  absent: installed,
  start: (surroundings) => startProgram(fileURLToPath(source), surroundings, format),
});

const keepsNothing = 'No authentication, limits, sessions or store.';

/** A gateway that passes the provider's stream through, event by event. */
async function startPortkey({ upstream }: Surroundings): Promise<Instance> {
  const port = await freePort();
  const args = [`${folder}/node_modules/@portkey-ai/gateway/build/start-server.js`, `--port=${port}`, '--headless'];
  const server = new Process({ place: 'server', program: process.execPath, args, node: true, cwd: folder });
  await untilReady(port, '/', server);
  const headers = {
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': `http://127.0.0.1:${upstream}/v1`,
    authorization: 'Bearer sk-bench',
  };
  return {
    processes: [server],
    ports: [port],
    format: openaiFormat,
    conversations: async (shape, count) => {
      const body = { model: modelName(shape), messages: [{ role: 'user', content: message }], stream: true };
      return Array<string>(count).fill(post('/v1/chat/completions', body, headers));
    },
    stop: () => server.stop(),
  };
}

export const peers: readonly Contender[] = [
  program('Fastify + openai', new URL('../peers/fastify.mjs', import.meta.url), parleyFormat, keepsNothing),
  program(
    'Hono + AI SDK',
    new URL('../peers/hono.mjs', import.meta.url),
    uiMessages,
    `${keepsNothing} Its steps, tools and message parts are more than a turn needs here.`,
  ),
  program(
    'Mastra',
    new URL('../peers/mastra.mjs', import.meta.url),
    parleyFormat,
    'An agent without memory: no authentication, limits or store; tracing, tools and processors are more than a turn needs here.',
  ),
  program(
    'LangGraph',
    new URL('../peers/langgraph.mjs', import.meta.url),
    parleyFormat,
    'Keeps every thread in memory by its own checkpoints: lost with the process. No authentication or limits.',
  ),
  {
    name: 'Portkey',
    note: 'A gateway: passes the stream of the provider through, with its own routing by header. No sessions or store. Runs on @hono/node-server 1.3.3, since with newer ones it answers streams with 500.',
    standing: 'peer',
    absent: installed,
    start: startPortkey,
  },
];
