/** The rules by which strict providers refuse a request, each with its source and in the provider's own words. */
import { isDeepStrictEqual } from 'node:util';

export interface Refusal {
  readonly status: number;
  readonly body: string;
}

/** A provider's memory of what it has put on its answers. */
export interface Issued {
  /** The signature of each call that it made. */
  readonly signatures: Set<string>;
  /** The details of its reasoning, one list for each round. */
  readonly details: object[][];
  /** Signed blocks of thoughts, each with the ids of the calls after it. */
  readonly thoughts: { readonly signature: string; readonly thinking: string; readonly callIds: readonly string[] }[];
}

export type Rule = (body: any, issued: Issued) => Refusal | null;

export const allOf =
  (...rules: readonly Rule[]): Rule =>
  (body, issued) => {
    for (const rule of rules) {
      const refusal = rule(body, issued);
      if (refusal !== null) return refusal;
    }
    return null;
  };

/** An error in OpenAI's form. */
export const openaiError = (
  message: string,
  { status = 400, type = 'invalid_request_error', param = null as string | null, code = null as string | null } = {},
): Refusal => ({ status, body: JSON.stringify({ error: { message, type, param, code } }) });
export const mistralError = (message: string, type: string, code: string): Refusal => ({
  status: 400,
  body: JSON.stringify({ object: 'error', message, type, param: null, code, raw_status_code: 400 }),
});
const anthropicError = (message: string): Refusal => ({
  status: 400,
  body: JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } }),
});

type Message = any;
const indexed = (body: any): [number, Message][] => [...body.messages.entries()];
const callsOf = ({ tool_calls: calls = [] }: Message): any[] => calls;
const allCalls = (body: any): any[] => body.messages.flatMap(callsOf);
const isBlank = (content: unknown): boolean =>
  content === undefined ||
  content === null ||
  (typeof content === 'string' ? content.trim() === '' : Array.isArray(content) && content.length === 0);
const typeOf = (value: unknown): string => (value === null ? 'null' : typeof value);

/** openai/openai-node#2571, letta-ai/letta#3308: each call has exactly one result, right behind it. */
export const answeredCalls: Rule = (body) => {
  let open: string[] = [];
  const missing = (): Refusal =>
    openaiError(
      `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${open.join(', ')}`,
      { param: 'messages' },
    );
  for (const [index, message] of indexed(body)) {
    if (message.role === 'tool') {
      if (!open.includes(message.tool_call_id))
        return openaiError(
          "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
          { param: `messages.[${index}].role` },
        );
      open = open.filter((id) => id !== message.tool_call_id);
      continue;
    }
    if (open.length > 0) return missing();
    const calls = callsOf(message);
    if (message.tool_calls !== undefined && calls.length === 0)
      return openaiError(`Invalid 'messages[${index}].tool_calls': empty array.`);
    open = calls.map(({ id }) => id);
    if (new Set(open).size < open.length)
      return openaiError(`Invalid 'messages[${index}].tool_calls': ids must be unique.`);
    for (const { id, function: called } of calls) {
      if (typeof id !== 'string' || id === '')
        return openaiError(`Missing required parameter: 'messages[${index}].tool_calls[0].id'.`);
      if (!/^[a-zA-Z0-9_-]{1,64}$/.test(called.name))
        return openaiError(`Invalid 'messages[${index}].tool_calls[0].function.name': string does not match pattern.`);
      if (typeof JSON.parse(called.arguments) !== 'object') return openaiError('Invalid arguments.');
    }
  }
  return open.length > 0 ? missing() : null;
};

/** vercel/ai#14950: null is no content of a message without calls. */
export const contentWithoutCalls: Rule = (body) => {
  const found = indexed(body).find(
    ([, message]) => callsOf(message).length === 0 && typeof message.content !== 'string',
  );
  return found === undefined
    ? null
    : openaiError(`Invalid value for 'content': expected a string, got ${typeOf(found[1].content)}.`, {
        param: `messages.[${found[0]}].content`,
      });
};

/** vercel/ai#5171, openclaw/openclaw#875. */
export const shortIds: Rule = (body) => {
  for (const [index, message] of indexed(body)) {
    const long = callsOf(message).findIndex(({ id }) => id.length > 40);
    if (long < 0) continue;
    const place = `messages[${index}].tool_calls[${long}].id`;
    return openaiError(
      `Invalid '${place}': string too long. Expected a string with maximum length 40, but got a string with length ${callsOf(message)[long].id.length} instead.`,
      { param: place, code: 'string_above_max_length' },
    );
  }
  return null;
};

const combinators = ['oneOf', 'anyOf', 'allOf', 'enum', 'not'];

/** Returns the path of an array without items; null if every array has items. */
function bareArray(schema: any, path: readonly string[] = []): readonly string[] | null {
  if (typeof schema !== 'object' || schema === null) return null;
  if (schema.type === 'array' && schema.items === undefined) return path;
  for (const [name, each] of Object.entries(schema)) {
    const found = bareArray(each, [...path, name]);
    if (found !== null) return found;
  }
  return null;
}

/** spring-projects/spring-ai#4776, sigoden/aichat#1049, nspady/google-calendar-mcp#39, getsentry/sentry-mcp#106. */
export const openaiSchemas: Rule = ({ tools = [] }) => {
  for (const [
    index,
    {
      function: { name, description, parameters },
    },
  ] of tools.entries()) {
    const refuse = (why: string): Refusal =>
      openaiError(`Invalid schema for function '${name}': ${why}`, {
        param: `tools[${index}].function.parameters`,
        code: 'invalid_function_parameters',
      });
    if (parameters?.type !== 'object' || combinators.some((one) => one in parameters))
      return refuse(
        "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.",
      );
    if (parameters.properties === undefined) return refuse('In context=(), object schema missing properties.');
    const path = bareArray(parameters);
    if (path !== null)
      return refuse(`In context=(${path.map((one) => `'${one}'`).join(', ')}), array schema missing items.`);
    if ((description ?? '').length > 1024)
      return openaiError(
        `Invalid 'tools[${index}].function.description': string too long. Expected a string with maximum length 1024, but got a string with length ${description.length} instead.`,
        { param: `tools[${index}].function.description`, code: 'string_above_max_length' },
      );
  }
  return null;
};

/** nearai/ironclaw#1241, langchain-ai/langchain#24668. */
export const mistralIds: Rule = (body) => {
  const wrong = allCalls(body).find(({ id }) => !/^[a-zA-Z0-9]{9}$/.test(id));
  return wrong === undefined
    ? null
    : mistralError(
        `Tool call id was ${wrong.id} but must be a-z, A-Z, 0-9, with a length of 9.`,
        'invalid_function_call',
        '3280',
      );
};

/** avante-corp/avante.nvim#2695, aaif-goose/goose#5998, NousResearch/hermes-agent#20154. */
export const mistralOrder: Rule = (body) => {
  for (const [index, { role }] of indexed(body)) {
    const before = body.messages[index - 1]?.role;
    if ((role === 'user' && before === 'tool') || (role === 'tool' && before !== 'tool' && before !== 'assistant'))
      return mistralError(`Unexpected role '${role}' after role '${before}'`, 'invalid_request_message_order', '3230');
  }
  const last = body.messages.at(-1).role;
  return last === 'user' || last === 'tool'
    ? null
    : mistralError(
        `Expected last role User or Tool (or Assistant with prefix True) for serving but got ${last}`,
        'invalid_request_message_order',
        '3230',
      );
};

/** OpenHands/OpenHands#8685. */
export const mistralContent: Rule = (body) =>
  body.messages.some(
    (message: Message) => message.role === 'assistant' && isBlank(message.content) && callsOf(message).length === 0,
  )
    ? mistralError(
        'Assistant message must have either content or tool_calls, but not none.',
        'invalid_request_assistant_message',
        '3240',
      )
    : null;

/**
 * The fields that Mistral's input has: charmbracelet/crush#1590, BerriAI/litellm#30835, Gage-Technologies/mistral-go#3.
 */
const mistralFields: Readonly<Record<string, readonly string[]>> = {
  system: ['role', 'content'],
  user: ['role', 'content'],
  assistant: ['role', 'content', 'tool_calls', 'prefix'],
  tool: ['role', 'content', 'tool_call_id', 'name'],
};
export const mistralExtras: Rule = (body) => {
  const detail = (loc: readonly unknown[], input: unknown): Refusal => ({
    status: 422,
    body: JSON.stringify({
      object: 'error',
      message: { detail: [{ type: 'extra_forbidden', loc, msg: 'Extra inputs are not permitted', input }] },
      type: 'invalid_request_error',
      param: null,
      code: null,
    }),
  });
  if (body.stream_options !== undefined) return detail(['body', 'stream_options'], body.stream_options);
  for (const [index, message] of indexed(body)) {
    const extra = Object.keys(message).find((name) => !mistralFields[message.role]!.includes(name));
    if (extra !== undefined) return detail(['body', 'messages', index, message.role, extra], message[extra]);
    for (const [place, call] of callsOf(message).entries()) {
      const field = Object.keys(call).find((name) => !['id', 'type', 'function', 'index'].includes(name));
      if (field !== undefined)
        return detail(['body', 'messages', index, message.role, 'tool_calls', place, field], call[field]);
    }
  }
  return null;
};

/**
 * securo-finance/securo#884, lbjlaq/Antigravity-Manager#3202; the value that passes for calls of others:
 * ai.google.dev/gemini-api/docs/thought-signatures.
 */
export const geminiSignatures: Rule = (body, { signatures }) => {
  const refuse = (message: string): Refusal => ({
    status: 400,
    body: JSON.stringify([{ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }]),
  });
  for (const [index, message] of indexed(body)) {
    for (const {
      function: { name },
      extra_content: extra,
    } of callsOf(message)) {
      const signature = extra?.google?.thought_signature;
      if (signature === undefined) {
        return refuse(
          `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${name}\` , position ${index + 1}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.`,
        );
      }
      if (signature !== 'skip_thought_signature_validator' && !signatures.has(signature))
        return refuse('Corrupted thought signature.');
    }
  }
  return null;
};

const namesIn = (body: any): string[] =>
  [...(body.tools ?? []), ...allCalls(body)].map(({ function: { name } }: any) => name as string);

/** google-gemini/gemini-cli#2966, microsoft/vscode-copilot-release#7928. */
export const geminiNames: Rule = (body) => {
  const wrong = namesIn(body).findIndex((name) => !/^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/.test(name));
  const message = `* GenerateContentRequest.tools[0].function_declarations[${wrong}].name: Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.) or dashes (-), with a maximum length of 64.`;
  return wrong < 0
    ? null
    : { status: 400, body: JSON.stringify([{ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }]) };
};

/** microsoft/vscode#299295, google-gemini/gemini-cli#26486, vercel/ai#3775. */
export const geminiTurns: Rule = (body) => {
  const refuse = (message: string): Refusal => ({
    status: 400,
    body: JSON.stringify([{ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }]),
  });
  const messages = body.messages.filter(({ role }: Message) => role !== 'system');
  for (const [index, message] of messages.entries()) {
    const calls = callsOf(message).length;
    if (calls > 0 && !['user', 'tool'].includes(messages[index - 1]?.role))
      return refuse(
        'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
      );
    let results = 0;
    while (messages[index + 1 + results]?.role === 'tool') results++;
    if (message.role !== 'tool' && results !== calls)
      return refuse(
        'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
      );
    if (isBlank(message.content) && calls === 0)
      return refuse(`* GenerateContentRequest.contents[${index}].parts: contents.parts must not be empty.`);
  }
  return null;
};

/** earendil-works/pi#4178, theopenco/llmgateway#2093: an empty string is missing, a blank is not. */
export const kimiReasoning: Rule = (body) => {
  const found = indexed(body).find(
    ([, message]) =>
      callsOf(message).length > 0 &&
      (typeof message.reasoning_content !== 'string' || message.reasoning_content === ''),
  );
  return found === undefined
    ? null
    : {
        status: 400,
        body: JSON.stringify({
          error: {
            type: 'invalid_request_error',
            message: `thinking is enabled but reasoning_content is missing in assistant tool call message at index ${found[0]}`,
          },
          type: 'error',
        }),
      };
};

/** Returns the path of a schema that has a type beside its alternatives; null if no schema has both. */
function typeBesideAnyOf(schema: any, path: readonly string[] = []): readonly string[] | null {
  if (typeof schema !== 'object' || schema === null) return null;
  if (schema.type !== undefined && schema.anyOf !== undefined) return path;
  for (const [name, each] of Object.entries(schema)) {
    const found = typeBesideAnyOf(each, [...path, name]);
    if (found !== null) return found;
  }
  return null;
}

/** MoonshotAI/kimi-cli#1595, anomalyco/opencode#37496: it says where in a schema, and not in which. */
export const kimiSchemas: Rule = ({ tools = [] }) => {
  const path = tools.map((tool: any) => typeBesideAnyOf(tool.function.parameters)).find((one: unknown) => one !== null);
  return path === undefined
    ? null
    : openaiError(
        `Invalid request: tools.function.parameters is not a valid moonshot flavored json schema, details: <At path '${path.join('.') || 'root'}': when using anyOf, type should be defined in anyOf items instead of the parent schema>`,
      );
};

/** MoonshotAI/kimi-cli#1773: it says neither which function nor where. */
export const kimiNames: Rule = (body) =>
  namesIn(body).every((name) => /^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(name))
    ? null
    : openaiError(
        'function name is invalid, must start with a letter and can contain letters, numbers, underscores, and dashes',
      );

/** AstrBotDevs/AstrBot#7200, MoonshotAI/kimi-code#1985, lobehub/lobehub#8419. */
export const kimiContent: Rule = (body) => {
  const found = indexed(body).find(([, message]) => isBlank(message.content) && callsOf(message).length === 0);
  return found === undefined
    ? null
    : openaiError(
        `Invalid request: the message at position ${found[0]} with role '${found[1].role}' must not be empty`,
      );
};

/** lsdefine/GenericAgent#30. */
export const kimiTemperature: Rule = ({ temperature = 1 }) =>
  temperature === 1 ? null : openaiError('invalid temperature: only 1 is allowed for this model');

/**
 * MoonshotAI/kimi-cli#2141, openclaw/openclaw#73417, vercel/ai#14740: with tools every answer has its reasoning, be it
 * empty.
 */
export const deepseekReasoning: Rule = (body) =>
  body.tools !== undefined &&
  body.messages.some(
    ({ role, reasoning_content: reasoning }: Message) => role === 'assistant' && typeof reasoning !== 'string',
  )
    ? openaiError('The `reasoning_content` in the thinking mode must be passed back to the API.', {
        code: 'invalid_request_error',
      })
    : null;

/**
 * ml-explore/mlx-lm#1375, vllm-project/vllm#9019: the template of Mistral's models refuses the ids that its own server
 * makes.
 */
export const templateIds: Rule = (body) =>
  allCalls(body).some(({ id }) => id.length !== 9)
    ? vllmError('Tool call IDs should be alphanumeric strings with length 9!')
    : null;

/** vllm-project/vllm#6862, mistralai/mistral-vibe#578. */
export const templateOrder: Rule = (body) => {
  const turns = body.messages.filter(
    (message: Message) => message.role === 'user' || (message.role === 'assistant' && callsOf(message).length === 0),
  );
  const alternates = turns.every(
    ({ role }: Message, index: number) => role === (index % 2 === 0 ? 'user' : 'assistant'),
  );
  return alternates
    ? null
    : vllmError(
        'After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.',
      );
};
const vllmError = (message: string): Refusal => ({
  status: 400,
  body: JSON.stringify({ error: { message, type: 'BadRequestError', param: null, code: 400 } }),
});

/** janhq/jan#8136, karthink/gptel#774, tashfeenahmed/freellmapi#1070. */
export const groqFields: Rule = (body) => {
  for (const [index, message] of indexed(body)) {
    const extra = Object.keys(message).find(
      (name) => !['role', 'content', 'tool_calls', 'tool_call_id', 'name'].includes(name),
    );
    if (extra !== undefined)
      return openaiError(
        `'messages.${index}' : for 'role:${message.role}' the following must be satisfied[('messages.${index}' : property '${extra}' is unsupported)]`,
      );
  }
  return null;
};

/** CherryHQ/cherry-studio#16790, Kilo-Org/kilocode#10375. */
export const cerebrasFields: Rule = (body) => {
  for (const [index, message] of indexed(body)) {
    const extra = Object.keys(message).find(
      (name) => !['role', 'content', 'tool_calls', 'tool_call_id', 'name'].includes(name),
    );
    const place = `messages.${index}.${message.role}.${extra}`;
    if (extra !== undefined)
      return {
        status: 400,
        body: JSON.stringify({
          message: `${place}: property '${place}' is unsupported`,
          type: 'invalid_request_error',
          param: 'validation_error',
          code: 'wrong_api_format',
        }),
      };
  }
  return null;
};

/**
 * LibreChat-AI/agents#37; openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning-blocks: the list goes back
 * as it came. RooCodeInc/Roo-Code#10640: calls of other models have one part of this form, with the id of the first.
 */
export const openrouterDetails: Rule = (body, { details }) => {
  const isTaken = ({ tool_calls: [first], reasoning_details: given }: Message): boolean =>
    details.some((each) => isDeepStrictEqual(each, given)) ||
    isDeepStrictEqual(given, [
      {
        type: 'reasoning.encrypted',
        data: 'skip_thought_signature_validator',
        id: first.id,
        format: 'google-gemini-v1',
        index: 0,
      },
    ]);
  const upstream = JSON.stringify({
    error: {
      code: 400,
      message: 'Function call is missing a thought_signature in functionCall parts.',
      status: 'INVALID_ARGUMENT',
    },
  });
  const raw = `Gemini models require OpenRouter reasoning details to be preserved in each request. Please refer to our docs: https://openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning-blocks. Upstream error: ${upstream}`;
  const isWrong = body.messages.some((message: Message) => callsOf(message).length > 0 && !isTaken(message));
  return isWrong
    ? {
        status: 400,
        body: JSON.stringify({
          error: {
            message: 'Provider returned error',
            code: 400,
            metadata: { raw, provider_name: 'Google AI Studio' },
          },
        }),
      }
    : null;
};

/** SAIL-Research-Lab/cheetahclaws#72. */
export const ollamaContent: Rule = (body) =>
  body.messages.some(({ content }: Message) => typeof content !== 'string')
    ? openaiError('invalid message content type: <nil>', { type: 'api_error' })
    : null;

/** langchain-ai/langchain#34140, AstrBotDevs/AstrBot#6447. */
export const xaiContent: Rule = (body) =>
  body.messages.some(({ content }: Message) => isBlank(content))
    ? {
        status: 400,
        body: JSON.stringify({
          code: 'Client specified an invalid argument',
          error: 'Invalid request content: Each message must have at least one content element.',
        }),
      }
    : null;

/** Portkey-AI/gateway#995, vercel/ai#14618. */
export const bedrockContent: Rule = (body) => {
  const found = indexed(body).find(
    ([, message]) => typeof message.content === 'string' && message.content.trim() === '',
  );
  return found === undefined
    ? null
    : openaiError(
        'litellm.BadRequestError: BedrockException - {"message":"messages: text content blocks must be non-empty"}',
      );
};
export const bedrockTools: Rule = (body) =>
  body.tools === undefined && body.messages.some(({ role }: Message) => role === 'tool')
    ? openaiError(
        'litellm.BadRequestError: BedrockException - {"message":"The toolConfig field must be defined when using toolUse and toolResult content blocks."}',
      )
    : null;

const blocksOf = (content: any): any[] => (typeof content === 'string' ? [{ type: 'text', text: content }] : content);
const ofType = (message: Message, type: string): any[] =>
  blocksOf(message.content).filter((block) => block.type === type);

/**
 * docs.anthropic.com/en/docs/build-with-claude/tool-use: roles alternate, each call has its result first in the next
 * message, and no text is blank.
 */
export const anthropicMessages: Rule = ({ messages, tools = [], tool_choice: choice }) => {
  if (messages[0]?.role !== 'user') return anthropicError('messages: first message must use the "user" role');
  let open: string[] = [];
  const seen = new Set<string>();
  for (const [index, message] of messages.entries()) {
    if (message.role === messages[index - 1]?.role)
      return anthropicError(
        `messages: roles must alternate between "user" and "assistant", but found multiple "${message.role}" roles in a row`,
      );
    const blocks = blocksOf(message.content);
    if (blocks.length === 0)
      return anthropicError(
        `messages.${index}: all messages must have non-empty content except for the optional final assistant message`,
      );
    if (blocks.some(({ type, text }) => type === 'text' && text.trim() === ''))
      return anthropicError('messages: text content blocks must be non-empty');
    const results = ofType(message, 'tool_result').map(({ tool_use_id: id }) => id as string);
    const first = blocks.slice(0, open.length).map(({ tool_use_id: id }) => id as string);
    if (open.some((id) => !first.includes(id)))
      return anthropicError(
        `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(', ')}.`,
      );
    if (results.length !== open.length)
      return anthropicError(
        `messages.${index}.content.0: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${results.join(', ')}.`,
      );
    const empty = ofType(message, 'tool_result').some(({ content }) => isBlank(content));
    // anomalyco/opencode#15371.
    if (empty)
      return anthropicError(
        `The content field in the Message object at messages.${index} is empty. Add a ContentBlock object to the content field and try again.`,
      );
    open = ofType(message, 'tool_use').map(({ id }) => id as string);
    for (const [place, { id, input }] of ofType(message, 'tool_use').entries()) {
      // BerriAI/litellm#34523.
      if (!/^[a-zA-Z0-9_-]+$/.test(id))
        return anthropicError(
          `messages.${index}.content.${place}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`,
        );
      if (seen.has(id)) return anthropicError('messages: `tool_use` ids must be unique');
      if (typeof input !== 'object' || input === null)
        return anthropicError(`messages.${index}.content.${place}.tool_use.input: Input should be a valid dictionary`);
      seen.add(id);
    }
    if ((open.length > 0 || results.length > 0) && tools.length === 0)
      return anthropicError('Requests which include `tool_use` or `tool_result` blocks must define tools');
  }
  if (choice !== undefined && tools.length === 0)
    return anthropicError('tool_choice: may only be specified while providing tools');
  return open.length > 0
    ? anthropicError(
        `messages: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(', ')}.`,
      )
    : null;
};

/** anthropics/claude-code#40075, modelcontextprotocol servers whose schema has no type. */
export const anthropicSchemas: Rule = ({ tools = [] }) => {
  for (const [index, { input_schema: schema }] of tools.entries()) {
    if (['oneOf', 'anyOf', 'allOf'].some((one) => one in schema))
      return anthropicError(
        `tools.${index}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level`,
      );
    if (schema.type !== 'object')
      return anthropicError(`tools.${index}.custom.input_schema.type: Input should be 'object'`);
  }
  return null;
};

/**
 * docs.anthropic.com/en/docs/build-with-claude/extended-thinking#preserving-thinking-blocks: within a loop of calls the
 * last answer begins with its thought, signed, and its text is not read. Calls that it has not made itself come from a
 * model that did not think.
 */
export const anthropicThoughts: Rule = ({ messages }, { thoughts }) => {
  const asked = messages.findLastIndex(
    (message: Message) => message.role === 'user' && ofType(message, 'text').length > 0,
  );
  for (const [index, message] of messages.entries()) {
    if (ofType(message, 'tool_use').length === 0) continue;
    const [first] = blocksOf(message.content);
    const isThought = first.type === 'thinking';
    const isOwn = ofType(message, 'tool_use').some(({ id }) => thoughts.some(({ callIds }) => callIds.includes(id)));
    if (index > asked && isOwn && !isThought)
      return anthropicError(
        `messages.${index}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first.type}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`,
      );
    const known = thoughts.find(({ signature }) => signature === first.signature);
    if (isThought && (known === undefined || (first.thinking !== '' && first.thinking !== known.thinking)))
      return anthropicError(`messages.${index}.content.0: Invalid \`signature\` in \`thinking\` block`);
  }
  return null;
};

/** decolua/9router#2397, esengine/DeepSeek-Reasonix#8902: DeepSeek's endpoint for clients of Anthropic. */
export const deepseekThoughts: Rule = ({ messages, tools }) =>
  tools !== undefined &&
  messages.some(
    (message: Message) => ofType(message, 'tool_use').length > 0 && ofType(message, 'thinking').length === 0,
  )
    ? {
        status: 400,
        body: JSON.stringify({
          error: {
            message: 'The `content[].thinking` in the thinking mode must be passed back to the API.',
            type: 'invalid_request_error',
            param: null,
            code: 'invalid_request_error',
          },
        }),
      }
    : null;
