/**
 * The response object as Open Responses of 2026-04-24 requires it, written from that document's schemas (Apache-2.0).
 */
const nullable = (schema: object) => ({ anyOf: [schema, { type: 'null' }] });
const text = { type: 'string' };
const integer = { type: 'integer' };
const number = { type: 'number' };
const status = { enum: ['in_progress', 'completed', 'incomplete'] };
const object = (properties: Record<string, object>) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
});

const outputText = object({ type: { const: 'output_text' }, text, annotations: { type: 'array' } });
const message = object({
  type: { const: 'message' },
  id: text,
  status,
  role: { enum: ['user', 'assistant', 'system', 'developer'] },
  content: { type: 'array', items: outputText },
});
const functionCall = object({
  type: { const: 'function_call' },
  id: text,
  call_id: text,
  name: text,
  arguments: text,
  status,
});
const functionTool = object({
  type: { const: 'function' },
  name: text,
  description: nullable(text),
  parameters: nullable({ type: 'object' }),
  strict: nullable({ type: 'boolean' }),
});
const usage = object({
  input_tokens: integer,
  output_tokens: integer,
  total_tokens: integer,
  input_tokens_details: object({ cached_tokens: integer }),
  output_tokens_details: object({ reasoning_tokens: integer }),
});

export const responseSchema = object({
  id: text,
  object: { const: 'response' },
  created_at: integer,
  completed_at: nullable(integer),
  status: text,
  incomplete_details: nullable(object({ reason: text })),
  model: text,
  previous_response_id: nullable(text),
  instructions: nullable(text),
  output: { type: 'array', items: { oneOf: [message, functionCall] } },
  error: nullable(object({ code: text, message: text })),
  tools: { type: 'array', items: functionTool },
  tool_choice: { enum: ['none', 'auto', 'required'] },
  truncation: { enum: ['auto', 'disabled'] },
  parallel_tool_calls: { type: 'boolean' },
  text: object({ format: object({ type: { const: 'text' } }) }),
  top_p: number,
  presence_penalty: number,
  frequency_penalty: number,
  top_logprobs: integer,
  temperature: number,
  reasoning: nullable({ type: 'object' }),
  usage: nullable(usage),
  max_output_tokens: nullable(integer),
  max_tool_calls: nullable(integer),
  store: { type: 'boolean' },
  background: { type: 'boolean' },
  service_tier: text,
  metadata: {},
  safety_identifier: nullable(text),
  prompt_cache_key: nullable(text),
});
