/** The shapes of the MCP server's tools, and of its messages as the reference shows them (contract 15). */
import { Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { named, Text } from './basics.ts';

export const AskArguments = Type.Object({
  message: Text(limits.messageCharactersMax, 1, 'The question, or what is said next.'),
  session_id: Type.Optional(
    Text(
      limits.bodyBytesMax,
      1,
      'The session_id of an earlier answer, to go on in that conversation. A new one begins without it.',
    ),
  ),
});

export const AskAnswer = Type.Object({
  session_id: Type.String({ description: 'Goes on in this conversation.' }),
  turn_id: Type.String(),
  status: Type.String({ description: 'completed, aborted or failed.' }),
  text: Type.String({ description: "The assistant's answer." }),
});

const idOfMessage = Type.Optional(Type.Union([Type.String(), Type.Number(), Type.Null()]));

export const McpBody = named(
  'McpMessage',
  Type.Object({
    jsonrpc: Type.Literal('2.0'),
    id: idOfMessage,
    method: Type.Optional(Type.String()),
    params: Type.Optional(Type.Unknown()),
  }),
);

export const McpAnswer = named(
  'McpAnswer',
  Type.Object({
    jsonrpc: Type.Literal('2.0'),
    id: idOfMessage,
    result: Type.Optional(Type.Unknown()),
    error: Type.Optional(Type.Unknown()),
  }),
);
