/** The shapes of OpenAI's API, as far as it is answered here (contract 14). Fields that are not named are ignored. */
import { Type, type Static } from 'typebox';
import { limits } from '../limits.ts';
import { speechFormats } from '../audio-formats.ts';
import { named, Nullable, Strings, Text, UnixSeconds, whole } from './basics.ts';

const bound = () => Type.Optional(Type.Integer({ minimum: 1 }));
const Model = () => Text(limits.nameCharactersMax, 1, "An assistant's id or alias.");
const Anything = (description?: string) => Type.Optional(Type.Unknown(description === undefined ? {} : { description }));

const Call = Type.Object({
  id: Type.String(),
  type: Type.Optional(Type.String()),
  function: Type.Object({ name: Type.String(), arguments: Type.String() }),
});

const Message = Type.Object({
  role: Strings(['system', 'developer', 'user', 'assistant', 'tool']),
  content: Anything('A text, or parts of the type `text`.'),
  tool_calls: Type.Optional(Type.Array(Call)),
  tool_call_id: Type.Optional(Type.String()),
});
export type ChatCompletionMessage = Static<typeof Message>;

const FunctionTool = Type.Object({
  type: Type.String(),
  function: Type.Optional(Type.Object({ name: Type.String(), description: Type.Optional(Type.String()), parameters: Anything('A JSON Schema of an object.') })),
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
    tools: Type.Optional(Type.Array(FunctionTool, { maxItems: limits.frontToolsMax, description: "The caller's own functions." })),
    tool_choice: Anything('`auto` or `none`.'),
    n: Type.Optional(Type.Literal(1)),
    response_format: Type.Optional(whole(Type.Object({ type: Type.Literal('text') }))),
    logprobs: Type.Optional(Type.Literal(false)),
    modalities: Type.Optional(whole(Type.Array(Type.Literal('text')))),
    audio: Anything('Refused.'),
    functions: Anything('Refused.'),
  }),
);
export type ChatCompletionBody = Static<typeof ChatCompletionBody>;

const CompletionUsage = Type.Object({ prompt_tokens: Type.Integer(), completion_tokens: Type.Integer(), total_tokens: Type.Integer() });

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
        message: Type.Object({ role: Type.Literal('assistant'), content: Nullable(Type.String()), refusal: Type.Null(), tool_calls: Type.Optional(Type.Array(Call)) }),
        logprobs: Type.Null(),
        finish_reason: Strings(['stop', 'tool_calls']),
      }),
    ),
    usage: CompletionUsage,
  }),
);

export const ModelView = named(
  'Model',
  Type.Object({ id: Type.String(), object: Type.Literal('model'), created: UnixSeconds(), owned_by: Type.Literal('parley'), name: Type.String() }),
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

export const OpenaiErrorView = named(
  'OpenaiError',
  Type.Object({
    error: Type.Object({ message: Type.String(), type: Type.String(), param: Nullable(Type.String({ description: "The field's path." })), code: Type.String() }),
    request_id: Type.String(),
  }),
);
