/** The paths of fronts for other protocols. */
import { limits } from './limits.ts';

/** The MCP server (contract 15). */
export const mcpPath = '/mcp';

/** A call for clients of OpenAI's Realtime API (contract 18). */
export const realtimePath = '/v1/realtime';

/** Whether the path is of OpenAI's API (contract 14): its failures have another shape. */
export const isOpenai = (path: string): boolean => path.startsWith('/v1/');

/** The path of a front as its route has it: clients join addresses with a slash too many, at the end or within. */
export const routedPath = (path: string): string =>
  isOpenai(path) || path.startsWith(`${mcpPath}/`)
    ? `/${path
        .split('/')
        .filter((segment) => segment !== '')
        .join('/')}`
    : path;

/** The bound of a request's body. */
export const bodyBytesOf = (path: string): number =>
  routedPath(path) === mcpPath || isOpenai(path) ? limits.frontBodyBytesMax : limits.bodyBytesMax;
