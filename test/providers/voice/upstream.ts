/** A stand-in for a voice provider: a server whose every answer a test writes. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { House } from '../../api/house.ts';
import type { Owner } from '../../folders.ts';
import { keepsConnections } from '../model/provider.ts';

export interface Asked {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

export interface Upstream {
  readonly baseUrl: string;
  readonly asked: Asked[];
  /** Replaces the answer from now on. */
  answer: (response: ServerResponse, asked: Asked) => void;
  /** Resolves when the number of connections is zero. */
  left(): Promise<void>;
}

export async function openUpstream(t: Owner): Promise<Upstream> {
  const upstream: { -readonly [K in keyof Upstream]: Upstream[K] } = {
    baseUrl: '',
    asked: [],
    answer: (response) => response.destroy(),
    left: async () => {},
  };
  let open = 0;
  let wake = (): void => {};
  const server = createServer(keepsConnections, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const asked = { path: request.url!, headers: request.headers, body: Buffer.concat(chunks) };
      upstream.asked.push(asked);
      open++;
      response.on('close', () => {
        open--;
        wake();
      });
      upstream.answer(response, asked);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(async () => {
    server.closeAllConnections();
    server.close();
  });
  upstream.baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  upstream.left = async () => {
    while (open > 0) await new Promise<void>((resolve) => (wake = resolve));
  };
  return upstream;
}

/** A published assistant whose voice is the upstream's. */
export async function onUpstream(
  house: House,
  { baseUrl }: Upstream,
  voice: object = {},
  fields: object = {},
): Promise<any> {
  const body = { kind: 'voice', provider: 'openai', base_url: baseUrl, api_key: 'voice-secret' };
  const { status, json, text } = await house.console(`/workspaces/${house.workspaceId}/credentials`, { body });
  if (status !== 201) throw new Error(text);
  return house.assistant({
    channels: { voice: true },
    voice: { provider: 'openai', credential_id: json.id, ...voice },
    ...fields,
  });
}
