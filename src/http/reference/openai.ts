/** The reference's texts on OpenAI's API (contract 14). */
import type { Area } from './entry.ts';
import * as example from './examples.ts';

const created = example.assistant.created_at;
const model = {
  id: example.settings.alias,
  object: 'model',
  created,
  owned_by: 'parley',
  name: example.assistant.name,
};
const asked = {
  model: model.id,
  messages: [
    { role: 'system', content: 'Answer in one sentence.' },
    { role: 'user', content: example.question },
  ],
};
const completionId = `chatcmpl-${example.ids.turn.slice('turn_'.length)}`;
const usage = { prompt_tokens: 38, completion_tokens: 13, total_tokens: 51 };
const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: completionId, object: 'chat.completion.chunk', created, model: model.id, choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] })}\n\n`;
const response = {
  ...{
    id: `resp_${example.ids.turn.slice('turn_'.length)}`,
    object: 'response',
    created_at: created,
    completed_at: created + 1,
    status: 'completed',
    incomplete_details: null,
  },
  ...{ model: model.id, previous_response_id: null, instructions: 'Answer in one sentence.' },
  output: [
    {
      type: 'message',
      id: example.ids.reply,
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', text: example.reply, annotations: [], logprobs: [] }],
    },
  ],
  ...{
    error: null,
    tools: [],
    tool_choice: 'auto',
    truncation: 'disabled',
    parallel_tool_calls: true,
    text: { format: { type: 'text' } },
  },
  ...{
    top_p: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    top_logprobs: 0,
    temperature: 0.2,
    reasoning: null,
    user: null,
  },
  usage: {
    input_tokens: 38,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 13,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 51,
  },
  ...{
    max_output_tokens: null,
    max_tool_calls: null,
    store: true,
    background: false,
    service_tier: 'default',
    metadata: {},
    safety_identifier: null,
    prompt_cache_key: null,
  },
  conversation: { id: example.ids.session },
};
const place = { item_id: example.ids.reply, output_index: 0, content_index: 0 };
const events =
  [
    { type: 'response.output_text.delta', sequence_number: 4, ...place, delta: example.reply, logprobs: [] },
    { type: 'response.completed', sequence_number: 8, response },
  ]
    .map((data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`)
    .join('') + 'data: [DONE]\n\n';
const unknown = "404 `model_not_found` is for a model that is unknown or not on the key's list.";

export const openai: Area = {
  name: "OpenAI's API",
  group: 'API',
  description: `For clients that speak OpenAI's API: set their base URL to \`/v1\` of this server, their key to an API key, and their model to an assistant's alias or id. An assistant with required visitor fields has no way in here. \
A failure is \`{"error": {message, type, param, code}, "request_id"}\`: code and message are those of the other paths, and 422 is 400.`,
  entries: {
    'GET /v1/models': {
      does: 'Returns the published assistants that the key reaches, all of them, newest first. `id` is the alias, or the id of an assistant without one.',
      answer: { object: 'list', data: [model] },
    },
    'GET /v1/models/{id}': { does: 'Returns one of them, by alias or id.', surprises: unknown, answer: model },
    'POST /v1/chat/completions': {
      does: `Answers the last message, which is the user's, or the results of calls; instructions may come behind it. Each request makes a session of one turn; its earlier messages go to the model and are not stored. With \`X-Conversation-Id\` the session of that name goes on, or a new one begins: \
that one stores the earlier messages, and later only the last message counts. \`system\` and \`developer\` messages follow the assistant's prompt, \`max_tokens\` and \`max_completion_tokens\` lower its bound, \`tools\` are the caller's own functions; other settings are the assistant's, whatever the request says. \
A client that leaves aborts the turn. Without \`stream\` a turn that failed is answered with its error's status; what it has said stays in the transcript of \`X-Session-Id\`. Bodies may have 1 MiB.`,
      repeat: 'Without an `Idempotency-Key` a repeat asks again, in a session of its own or in the named one.',
      surprises: `${unknown} 400 with \`param\`, the path of message and part: pictures, sounds and files in the last message (in earlier ones they become \`[image]\`, \`[audio]\` and \`[file]\`), \`n\` over 1, \`logprobs\`, \`audio\`, \`functions\`, a \`response_format\` or a forced \`tool_choice\` that the provider of the assistant's model does not have or that tools of the assistant are in the way of, a function that has the name of one of the assistant's. \`X-Should-Retry: false\` comes with each 409 and with \`assistant_unavailable\`.`,
      headers: { 'Idempotency-Key': example.idempotencyKey },
      body: asked,
      answer: {
        id: completionId,
        object: 'chat.completion',
        created,
        model: model.id,
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: example.reply, refusal: null },
            logprobs: null,
            finish_reason: 'stop',
          },
        ],
        usage,
      },
      exports: {
        'text/event-stream': `${chunk({ role: 'assistant', content: '' })}${chunk({ content: example.reply })}${chunk({}, 'stop')}data: [DONE]\n\n`,
      },
    },
    'POST /v1/responses': {
      does: `Answers the input, a text or items of the types \`message\`, \`function_call\`, \`function_call_output\` and \`item_reference\` (to an item of an earlier response), in the shapes of Open Responses (2026-04-24). With \`store\` (the default) the session stays open: \`previous_response_id\`, which must be its latest response, or \`conversation\`, its id, goes on in it, \
and then only what is new counts: the user's messages, or a result for each call that waits. What came before the last item of a new session is stored, unless it has calls. \`instructions\` are this response's alone. A client that leaves aborts the turn. \
An aborted response is \`cancelled\`, and its stream ends with \`response.incomplete\`; each stream ends with \`data: [DONE]\`.`,
      repeat: 'Without an `Idempotency-Key` a repeat answers again, in a new session or in the same.',
      surprises: `${unknown} 400 with \`param\`: \`background\`, a \`text.format\` or a forced \`tool_choice\` as on chat, \`top_logprobs\`, pictures and files in the last item, a reference to an item that was not given, a \`previous_response_id\` that is unknown or not the latest, both it and \`conversation\`, \`store: false\` with either. A response that goes on after \`store: false\` is 409 \`session_ended\`.`,
      headers: { 'Idempotency-Key': example.idempotencyKey },
      body: { model: model.id, instructions: 'Answer in one sentence.', input: example.question },
      answer: response,
      exports: { 'text/event-stream': events },
    },
    'GET /v1/responses/{id}': {
      does: 'Returns a response, as long as its session is kept. Instructions, tools and bounds of its request are not.',
      surprises:
        'An unknown one, and a turn that was not made as a response, is 404 `turn_not_found`; one of an assistant that the key does not reach 403 `assistant_not_permitted`.',
      answer: { ...response, instructions: null },
    },
    'DELETE /v1/responses/{id}': {
      does: 'Ends the session of a response, which can be read and not be continued from then on.',
      repeat: 'A repeat is answered alike.',
      surprises: 'As of `GET`.',
      answer: { id: response.id, object: 'response', deleted: true },
    },
    'GET /v1/realtime': {
      does: `Becomes a WebSocket with the events of OpenAI's Realtime API, on the same call as \`GET /call\`: it makes a session, or goes on in \`session_id\`. A browser offers the subprotocols \`realtime\` and \`openai-insecure-api-key.KEY\` instead of the header. Audio is base64 of 16-bit PCM at 24,000 Hz, or \`audio/pcmu\` or \`audio/pcma\` after \`session.update\`. \
Instructions, tools and voice are the assistant's; \`session.updated\` says what holds. An event that is not taken is answered with \`error\`, and the call goes on. The contract, part 18, has every event.`,
      cost: 'Usage counts as for a call.',
      repeat: 'Each opening makes a session of its own, or replaces the call of the session that it names.',
      surprises: `${unknown} A session that is over is 409 \`session_ended\` or \`session_expired\`, an assistant without voice 409 \`voice_disabled\`.`,
      query: { model: model.id },
    },
    'POST /v1/audio/speech': {
      does: 'Speaks a text, as `POST /speech` does under its own names: `input` is the text, and `response_format` is `mp3` unless it says otherwise.',
      repeat: 'A repeat speaks again, and is charged again.',
      surprises: `${unknown} The refusals are those of \`POST /speech\`.`,
      body: { model: model.id, input: 'We are open from nine to six.' },
    },
  },
};
