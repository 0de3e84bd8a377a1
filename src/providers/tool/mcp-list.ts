/** Reads the list of an MCP server (contract 13). */
import type { Client, RequestOptions } from '@modelcontextprotocol/client';
import { isObject } from '../../base/json.ts';
import type { ListedTool } from '../tool.ts';
import { isSchema } from './schema.ts';

/** The tools that a server lists, those whose schemas are refused among them. */
export async function readList(client: Client, options: RequestOptions): Promise<readonly ListedTool[]> {
  const transport = client.transport!;
  const receive = transport.onmessage;
  // The client of the protocol refuses a whole list for one tool that is not as the protocol has it.
  transport.onmessage = (message, extra) => receive?.('result' in message && Array.isArray(message.result['tools']) ? { ...message, result: { ...message.result, tools: message.result['tools'].map(plain) } } : message, extra);
  const { tools } = await client.listTools(undefined, options);
  return tools.map(({ name, description = null, inputSchema }) => ({ name, description, parameters: inputSchema }));
}

/** A schema that the protocol allows and that is refused. */
const refusedSchema = { type: 'object', $ref: '' };

/** The parts of a listed tool that are read. */
function plain(tool: unknown): unknown {
  if (!isObject(tool)) return tool;
  const { name, description, inputSchema } = tool;
  return { name, ...(typeof description === 'string' && { description }), inputSchema: isSchema(inputSchema) ? inputSchema : refusedSchema };
}
