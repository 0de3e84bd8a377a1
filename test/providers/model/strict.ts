/** Stand-ins for endpoints that refuse what others take, in the words that theirs have. */
import type { ServerResponse } from 'node:http';
import { delta, done, eventStream } from './provider.ts';
import type { Provider } from './provider.ts';

export interface Refusal {
  readonly status: number;
  readonly body: string;
}

/** Answers `ok`, unless a check refuses the request. */
export const unless =
  (...checks: ((body: any) => Refusal | null)[]): Provider['answer'] =>
  (response, { body }) => {
    for (const check of checks) {
      const refusal = check(body);
      if (refusal !== null) return refuse(response, refusal);
    }
    response.writeHead(200, eventStream).end(delta('ok', 'stop') + done);
  };

export function refuse(response: ServerResponse, { status, body }: Refusal): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(body);
}

const vllm = (message: string): Refusal => ({
  status: 400,
  body: JSON.stringify({ object: 'error', message, type: 'BadRequestError', param: null, code: 400 }),
});
const openai = (message: string, param: string | null, code: string): Refusal => ({
  status: 400,
  body: JSON.stringify({ error: { message, type: 'invalid_request_error', param, code } }),
});

/** The templates of Mistral and Llama 2 in vLLM require: system?, user, assistant, user, … */
export function alternation({ messages }: any): Refusal | null {
  const roles: string[] = messages.map(({ role }: any) => role);
  if (roles[0] === 'system') roles.shift();
  const isStrict =
    roles.every((role, index) => role === (index % 2 === 0 ? 'user' : 'assistant')) && roles.at(-1) === 'user';
  return isStrict
    ? null
    : vllm('After the optional system message, conversation roles must alternate user/assistant/user/assistant/...');
}

/** The template of Gemma requires this order. */
export function noSystem({ messages }: any): Refusal | null {
  return messages.some(({ role }: any) => role === 'system') ? vllm('System role not supported') : null;
}

/** Messages without text are refused as well. */
export const noEmpty = ({ messages }: any): Refusal | null =>
  messages.every(({ content }: any) => content.trim() !== '') ? null : { status: 422, body: '{}' };

/** An endpoint that knows some parameters not; `speaks` says which, otherwise it gives no reason. */
export const unknown =
  (fields: readonly string[], speaks: boolean) =>
  (body: any): Refusal | null => {
    const field = fields.find((field) => body[field] !== undefined);
    if (field === undefined) return null;
    return speaks
      ? openai(`Unsupported parameter: '${field}' is not supported with this model.`, field, 'unsupported_parameter')
      : { status: 422, body: '{"detail":"extra inputs are not permitted"}' };
  };

/** The characters that a request sends of a conversation. */
export const sentCharacters = ({ messages }: any): number =>
  messages
    .filter(({ role }: any) => role !== 'system')
    .flatMap(({ content }: any) => (typeof content === 'string' ? content : content.map(({ text = '' }: any) => text)))
    .reduce((sum: number, text: string) => sum + text.length, 0);

/** A window of so many characters. */
export const window =
  (charactersMax: number, refusal: Refusal) =>
  (body: any): Refusal | null =>
    sentCharacters(body) > charactersMax ? refusal : null;

/** Phrases by which providers say that a request is too long. */
export const tooLong: Readonly<Record<string, Refusal>> = {
  OpenAI: openai(
    "This model's maximum context length is 4097 tokens. However, your messages resulted in 5000 tokens. Please reduce the length of the messages.",
    'messages',
    'context_length_exceeded',
  ),
  Azure: openai(
    "This model's maximum context length is 8192 tokens, however you requested 9000 tokens (8000 in your prompt; 1000 for the completion).",
    null,
    'context_length_exceeded',
  ),
  vLLM: vllm(
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in the messages, Please reduce the length of the messages.",
  ),
  'vLLM, newer': vllm(
    'The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller than the number of text tokens.',
  ),
  'llama.cpp': {
    status: 400,
    body: '{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}',
  },
  Ollama: {
    status: 400,
    body: '{"error":{"message":"prompt too long; exceeded max context length by 40 tokens","type":"invalid_request_error"}}',
  },
  Anthropic: {
    status: 400,
    body: '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}',
  },
  'Anthropic, with its reply': {
    status: 400,
    body: '{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 199189 + 21333 > 200000, decrease input length or `max_tokens` and try again"}}',
  },
  'Anthropic, too large': {
    status: 413,
    body: '{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}',
  },
  OpenRouter: {
    status: 400,
    body: '{"error":{"message":"This endpoint\'s maximum context length is 8192 tokens. However, you requested about 9000 tokens","code":400}}',
  },
  Mistral: {
    status: 400,
    body: '{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_prompt","code":"3051"}',
  },
  Groq: openai('Please reduce the length of the messages or completion.', 'messages', 'context_length_exceeded'),
  'Groq, too large': {
    status: 413,
    body: '{"error":{"message":"Request too large for model","code":"rate_limit_exceeded"}}',
  },
  Gemini: {
    status: 400,
    body: '[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]',
  },
  TGI: {
    status: 422,
    body: '{"error":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 20 `max_new_tokens`","error_type":"validation"}',
  },
  SGLang: vllm("The input (5000 tokens) is longer than the model's context length (4096 tokens)."),
  Bedrock: { status: 400, body: '{"message":"Input is too long for requested model."}' },
  xAI: {
    status: 400,
    body: '{"error":"This model\'s maximum prompt length is 131072 but the request contains 537812 tokens."}',
  },
  Fireworks: {
    status: 400,
    body: '{"error":{"message":"The prompt is too long: 140000, model maximum context length: 131071"}}',
  },
  Moonshot: {
    status: 400,
    body: '{"error":{"message":"Invalid request: Your request exceeded model token limit: 8192","type":"invalid_request_error"}}',
  },
  DashScope: {
    status: 400,
    body: '{"error":{"message":"Range of input length should be [1, 30720]","code":"invalid_parameter_error"}}',
  },
  Cohere: {
    status: 400,
    body: '{"message":"too many tokens: size limit exceeded by 11326 tokens. Try using shorter or fewer inputs."}',
  },
  'a gateway': { status: 413, body: '<html><body><h1>413 Request Entity Too Large</h1></body></html>' },
};

/** The same, as servers on somebody's desk say it with a 500, and some within a stream. */
export const inTheirWords = {
  Ollama: '{"error":"llama runner process no longer running: the input length exceeds the context length"}',
  'Ollama, older': '{"error":"input length exceeds maximum context length"}',
  'llama.cpp': '{"error":{"code":500,"message":"context size has been exceeded","type":"server_error"}}',
  'llama.cpp, older':
    '{"error":{"code":500,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"server_error"}}',
  'LM Studio':
    '{"error":{"message":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input"}}',
  'LM Studio, newer':
    '{"error":"The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length, or provide a shorter input"}',
  'llama-cpp-python':
    '{"error":{"message":"Requested tokens (5000) exceed context window of 4096","type":"internal_server_error","param":null,"code":null}}',
};
