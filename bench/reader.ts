/**
 * A process that reads answers with one of the clients and reports the cost: `node reader.mjs CLIENT PORT [OPENAI]`,
 * where the last is the path of the package `openai`. To `{streams, events}` it answers with the CPU time in
 * microseconds, and the characters read.
 */
import { createParser } from 'eventsource-parser';

export type Client = 'parley-client' | 'fetch' | 'openai';
export interface Reading {
  readonly microseconds: number;
  readonly characters: number;
}

type Read = (events: number) => Promise<number>;

const [client, port, packagePath] = process.argv.slice(2) as [Client, string, string];
const url = `http://127.0.0.1:${port}`;

/** Each reads one answer and counts its characters. */
const readers: Readonly<Record<Client, () => Promise<Read>>> = {
  async 'parley-client'() {
    const { Parley } = (await import(packagePath)) as typeof import('../src/client/index.ts');
    const parley = new Parley({ url, key: 'ak_bench' });
    return async (events) => {
      let characters = 0;
      for await (const event of await parley.sessions.chat(String(events), 'Hello'))
        if (event.type === 'message.delta') characters += event.text.length;
      return characters;
    };
  },
  async fetch() {
    return async (events) => {
      let characters = 0;
      const parser = createParser({
        onEvent: ({ event, data }) => {
          if (event === 'message.delta') characters += (JSON.parse(data) as { text: string }).text.length;
        },
      });
      const response = await fetch(`${url}/sessions/${events}/chat`, { method: 'POST', body: '{}' });
      const decoder = new TextDecoder();
      for await (const bytes of response.body!) parser.feed(decoder.decode(bytes as Uint8Array, { stream: true }));
      return characters;
    };
  },
  async openai() {
    const { default: OpenAI } = (await import(packagePath)) as { default: any };
    const openai = new OpenAI({ apiKey: 'sk-bench', baseURL: `${url}/v1` });
    return async (events) => {
      let characters = 0;
      const stream = await openai.chat.completions.create({
        model: String(events),
        messages: [{ role: 'user', content: 'Hello' }],
        stream: true,
      });
      for await (const chunk of stream) characters += (chunk.choices[0]?.delta?.content ?? '').length;
      return characters;
    };
  },
};

const read = await readers[client]();
process.on('message', (asked: { streams: number; events: number } | 'heap') => {
  if (asked === 'heap') return;
  const before = process.cpuUsage();
  const readings = Array.from({ length: asked.streams }, () => read(asked.events));
  void Promise.all(readings).then((counts) => {
    const { user, system } = process.cpuUsage(before);
    process.send!({
      microseconds: user + system,
      characters: counts.reduce((sum, count) => sum + count, 0),
    } satisfies Reading);
  });
});
// The channel to the benchmark does not keep the process alive.
setInterval(() => {}, 1 << 30);
process.send!({ ready: true });
