/** The shapes of OpenAI's API, as far as it is answered here (contract 14). Fields that are not named are ignored. */
import { Type, type Static } from 'typebox';
import { limits } from '../base/limits.ts';
import { speechFormats } from '../base/audio-formats.ts';
import { mapOf, metadataOf, named, Nullable, Strings, Text, UnixSeconds, whole } from './basics.ts';

const bound = () => Type.Optional(Type.Integer({ description: '0 and less are no bound.' }));
const Model = () => Text(limits.nameCharactersMax, 1, "An assistant's id or alias.");
const Anything = (description?: string) =>
  Type.Optional(Type.Unknown(description === undefined ? {} : { description }));

const Call = Type.Object({
  id: Type.String(),
  type: Type.Optional(Type.String()),
  function: Type.Object({ name: Type.String(), arguments: Type.String() }),
});

/** A call as clients send it back: some have no id, and arguments that are an object. */
const GivenCall = Type.Object({
  id: Type.Optional(Type.String()),
  function: Type.Optional(Type.Object({ name: Type.String(), arguments: Anything() })),
  custom: Type.Optional(Type.Object({ name: Type.String(), input: Anything() })),
});

const Message = Type.Object({
  role: Strings(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
  content: Anything(
    'A text, or a list of parts. Pictures, audio and files of earlier messages become `[image]`, `[audio]` and `[file]`.',
  ),
  refusal: Type.Optional(Type.String()),
  tool_calls: Type.Optional(Type.Array(GivenCall, { maxItems: limits.frontToolsMax })),
  function_call: Type.Optional(Type.Object({ name: Type.String(), arguments: Anything() })),
  tool_call_id: Type.Optional(Type.String()),
  name: Type.Optional(Type.String()),
});
export type ChatCompletionMessage = Static<typeof Message>;

const FunctionTool = Type.Object({
  type: Type.String(),
  function: Type.Optional(
    Type.Object({
      name: Type.String(),
      description: Type.Optional(Type.String()),
      parameters: Anything('A JSON Schema of an object.'),
    }),
  ),
});

export const ChatCompletionBody = named(
  'ChatCompletion',
  Type.Object({
    model: Model(),
    messages: Type.Array(Message, { minItems: 1, maxItems: limits.frontMessagesMax }),
    stream: Type.Optional(Type.Boolean()),
    stream_options: Type.Optional(Type.Object({ include_usage: Type.Optional(Type.Boolean()) })),
    max_tokens: bound(),
    max_completion_tokens: bound(),
    tools: Type.Optional(
      Type.Array(FunctionTool, { maxItems: limits.frontToolsMax, description: "The caller's own functions." }),
    ),
    tool_choice: Anything('`auto`, `none`, `required` or a function of the caller.'),
    n: Type.Optional(Type.Literal(1)),
    response_format: Anything('`text`, `json_object` or `json_schema`.'),
    logprobs: Type.Optional(Type.Literal(false)),
    modalities: Type.Optional(whole(Type.Array(Type.Literal('text')))),
    audio: Anything('Refused.'),
    functions: Anything('Refused.'),
  }),
);
export type ChatCompletionBody = Static<typeof ChatCompletionBody>;

const CompletionUsage = Type.Object({
  prompt_tokens: Type.Integer(),
  completion_tokens: Type.Integer(),
  total_tokens: Type.Integer(),
});

export const ChatCompletionView = named(
  'ChatCompletionResult',
  Type.Object({
    id: Type.String(),
    object: Type.Literal('chat.completion'),
    created: UnixSeconds(),
    model: Type.String(),
    choices: Type.Array(
      Type.Object({
        index: Type.Integer(),
        message: Type.Object({
          role: Type.Literal('assistant'),
          content: Nullable(Type.String()),
          refusal: Type.Null(),
          tool_calls: Type.Optional(Type.Array(Call)),
        }),
        logprobs: Type.Null(),
        finish_reason: Strings(['stop', 'length', 'content_filter', 'tool_calls']),
      }),
    ),
    usage: CompletionUsage,
  }),
);

export const ModelView = named(
  'Model',
  Type.Object({
    id: Type.String(),
    object: Type.Literal('model'),
    created: UnixSeconds(),
    owned_by: Type.Literal('parley'),
    name: Type.String(),
  }),
);
export const ModelList = named('ModelList', Type.Object({ object: Type.Literal('list'), data: Type.Array(ModelView) }));

export const CompletionSpeechBody = named(
  'CompletionSpeech',
  Type.Object({
    model: Model(),
    input: Text(limits.speechCharactersMax),
    voice: Type.Optional(Text(limits.bodyBytesMax, 1, "An id of `GET /voices`; the assistant's own if absent.")),
    response_format: Type.Optional(Strings(speechFormats, '`mp3` if absent.')),
    speed: Type.Optional(Type.Number({ minimum: 0.5, maximum: 2, default: 1 })),
  }),
);
export type CompletionSpeechBody = Static<typeof CompletionSpeechBody>;

const Item = Type.Object({
  type: Type.Optional(Strings(['message', 'function_call', 'function_call_output', 'reasoning', 'item_reference'])),
  id: Type.Optional(Type.String({ description: 'Of an item of an earlier response, with `item_reference`.' })),
  role: Type.Optional(Strings(['system', 'developer', 'user', 'assistant'])),
  content: Anything('A text, or parts of the types `input_text` and `output_text`.'),
  call_id: Type.Optional(Type.String()),
  name: Type.Optional(Type.String()),
  arguments: Anything(),
  output: Anything('A text, or parts of the type `input_text`.'),
});

const ResponseTool = Type.Object({
  type: Type.String(),
  name: Type.Optional(Type.String()),
  description: Type.Optional(Type.String()),
  parameters: Anything('A JSON Schema of an object.'),
});

export const ResponseBody = named(
  'ResponseRequest',
  Type.Object({
    model: Model(),
    input: Type.Union([
      Type.String({ minLength: 1 }),
      Type.Array(Item, { minItems: 1, maxItems: limits.frontMessagesMax }),
    ]),
    instructions: Type.Optional(Type.String()),
    previous_response_id: Type.Optional(
      Type.String({ description: 'The latest response of a session, which goes on.' }),
    ),
    conversation: Type.Optional(
      whole(
        Type.Union([Type.String(), Type.Object({ id: Type.String() })], {
          description: 'The id of a session, which goes on.',
        }),
      ),
    ),
    store: Type.Optional(
      Type.Boolean({
        default: true,
        description: 'Whether the session stays open, so that another response can go on in it.',
      }),
    ),
    stream: Type.Optional(Type.Boolean()),
    max_output_tokens: bound(),
    tools: Type.Optional(
      Type.Array(ResponseTool, { maxItems: limits.frontToolsMax, description: "The caller's own functions." }),
    ),
    tool_choice: Anything('`auto`, `none`, `required` or a function of the caller.'),
    background: Type.Optional(Type.Literal(false)),
    text: Type.Optional(Type.Object({ format: Anything('`text`, `json_object` or `json_schema`.') })),
    top_logprobs: Type.Optional(Type.Literal(0)),
    metadata: Type.Optional(metadataOf('Kept with the response and told with it, as are the three fields below.')),
    safety_identifier: Type.Optional(Text(limits.responseNameCharactersMax, 0)),
    prompt_cache_key: Type.Optional(Text(limits.responseNameCharactersMax, 0)),
    user: Type.Optional(Text(limits.responseNameCharactersMax, 0)),
  }),
);
export type ResponseBody = Static<typeof ResponseBody>;

const Tokens = Type.Object({
  cached_tokens: Type.Optional(Type.Integer()),
  reasoning_tokens: Type.Optional(Type.Integer()),
});

const itemStatus = () => Strings(['in_progress', 'completed', 'incomplete']);
const OutputText = Type.Object({
  type: Type.Literal('output_text'),
  text: Type.String(),
  annotations: Type.Array(Type.Unknown()),
  logprobs: Type.Array(Type.Unknown()),
});
const MessageItem = Type.Object({
  type: Type.Literal('message'),
  id: Type.String(),
  status: itemStatus(),
  role: Type.Literal('assistant'),
  content: Type.Array(OutputText),
});
const CallItem = Type.Object({
  type: Type.Literal('function_call'),
  id: Type.String(),
  call_id: Type.String(),
  name: Type.String(),
  arguments: Type.String(),
  status: itemStatus(),
});

export const ResponseView = named(
  'Response',
  Type.Object({
    id: Type.String({ pattern: '^resp_' }),
    object: Type.Literal('response'),
    created_at: UnixSeconds(),
    completed_at: Nullable(UnixSeconds()),
    status: Strings(['in_progress', 'completed', 'incomplete', 'failed', 'cancelled']),
    incomplete_details: Nullable(Type.Object({ reason: Strings(['max_output_tokens', 'content_filter']) })),
    model: Type.String(),
    previous_response_id: Nullable(Type.String()),
    instructions: Nullable(Type.String()),
    output: Type.Array(Type.Union([MessageItem, CallItem]), {
      description: 'The message, and calls of the functions of the caller.',
    }),
    error: Nullable(Type.Object({ code: Type.String(), message: Type.String() })),
    tools: Type.Array(
      Type.Object({
        type: Type.Literal('function'),
        name: Type.String(),
        description: Nullable(Type.String()),
        parameters: Type.Unknown(),
        strict: Type.Boolean(),
      }),
    ),
    tool_choice: Type.Unknown({ description: 'As it was asked for.' }),
    truncation: Type.Literal('disabled'),
    parallel_tool_calls: Type.Boolean(),
    text: Type.Object({ format: Type.Object({ type: Strings(['text', 'json_object', 'json_schema']) }) }),
    top_p: Type.Number(),
    presence_penalty: Type.Number(),
    frequency_penalty: Type.Number(),
    top_logprobs: Type.Integer(),
    temperature: Type.Number(),
    reasoning: Type.Null(),
    user: Nullable(Type.String()),
    usage: Nullable(
      Type.Object({
        input_tokens: Type.Integer(),
        input_tokens_details: Tokens,
        output_tokens: Type.Integer(),
        output_tokens_details: Tokens,
        total_tokens: Type.Integer(),
      }),
    ),
    max_output_tokens: Nullable(Type.Integer()),
    max_tool_calls: Type.Null(),
    store: Type.Boolean(),
    background: Type.Boolean(),
    service_tier: Type.String(),
    metadata: mapOf(Type.String()),
    safety_identifier: Nullable(Type.String()),
    prompt_cache_key: Nullable(Type.String()),
    conversation: Type.Object({ id: Type.String({ description: 'The session.' }) }),
  }),
);
export const DeletedResponseView = named(
  'DeletedResponse',
  Type.Object({ id: Type.String(), object: Type.Literal('response'), deleted: Type.Literal(true) }),
);

export const OpenaiErrorView = named(
  'OpenaiError',
  Type.Object({
    error: Type.Object({
      message: Type.String(),
      type: Type.String(),
      param: Nullable(Type.String({ description: "The field's path." })),
      code: Type.String(),
    }),
    request_id: Type.String(),
  }),
);
