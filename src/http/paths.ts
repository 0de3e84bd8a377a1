/** Paths of the APIs for clients of other protocols. */
import { limits } from '../base/limits.ts';

/** The MCP server (contract 15). */
export const mcpPath = '/mcp';

/** The socket of a client of OpenAI's Realtime API (contract 18). */
export const realtimePath = '/v1/realtime';

/** Whether the path belongs to OpenAI's API (contract 14): its failures have another shape. */
export const isOpenai = (path: string): boolean => path.startsWith('/v1/');

/** The path as the table of routes has it, without the surplus slashes that clients of other protocols send. */
export const routedPath = (path: string): string =>
  isOpenai(path) || path.startsWith(`${mcpPath}/`)
    ? `/${path
        .split('/')
        .filter((segment) => segment !== '')
        .join('/')}`
    : path;

/** Bytes that a request's body may have at most. */
export const bodyBytesOf = (path: string): number =>
  routedPath(path) === mcpPath || isOpenai(path) ? limits.frontBodyBytesMax : limits.bodyBytesMax;
