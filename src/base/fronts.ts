/** The paths of fronts for other protocols. */
import { limits } from './limits.ts';

/** The MCP server (contract 15). */
export const mcpPath = '/mcp';

/** The bound of a request's body. */
export const bodyBytesOf = (path: string): number => (path === mcpPath ? limits.frontBodyBytesMax : limits.bodyBytesMax);
