/** Reasons why a tool call failed (contract 13). */
export const toolErrors = [
  'arguments',
  'unknown_tool',
  'limit',
  'timeout',
  'unreachable',
  'refused',
  'too_large',
  'malformed',
] as const;
export type ToolError = (typeof toolErrors)[number];

/** The steps of reading the list of an MCP server, in their order. */
export const entrySteps = ['connect', 'probe', 'initialize', 'list'] as const;
export type EntryStep = (typeof entrySteps)[number];
