/** An HTTP tool that remembers each call that reaches it. */
import { once } from 'node:events';
import { createServer, request as send, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Owner } from '../folders.ts';
import { keepsConnections } from '../providers/model/provider.ts';
import type { House } from './house.ts';

export interface Reached {
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: any;
}

export interface CountingTool {
  /** The tool's id in the workspace. */
  readonly id: string;
  readonly reached: Reached[];
  /** Resolves once each request that was written to it before has reached it: the kernel keeps their order. */
  settled(): Promise<void>;
  /** Replaces its answer from now on. */
  answer: (response: ServerResponse, reached: Reached) => void;
}

/** Creates the tool with these fields. */
export async function countingTool(t: Owner, house: House, fields: object): Promise<CountingTool> {
  const reached: Reached[] = [];
  const server = createServer(keepsConnections, (request, response) => {
    if (request.method === 'HEAD') return void response.end();
    let text = '';
    request.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    request.on('end', () => {
      const one = { headers: request.headers, body: JSON.parse(text) };
      reached.push(one);
      tool.answer(response, one);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(async () => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/call`;
  const { status, json } = await house.console(`/workspaces/${house.workspaceId}/tools`, {
    body: { kind: 'http', name: 'Counting', url, ...fields },
  });
  if (status !== 201) throw new Error(JSON.stringify(json));
  const tool: CountingTool = {
    id: json.id,
    reached,
    async settled() {
      const fence = send(url, { method: 'HEAD', agent: false }).end();
      await once(fence, 'response');
    },
    answer: (response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{"done":true}'),
  };
  return tool;
}
