/** The reference's texts on OpenAI's API (contract 14). */
import type { Area } from './entry.ts';
import * as example from './examples.ts';

const created = example.assistant.created_at;
const model = { id: example.settings.alias, object: 'model', created, owned_by: 'parley', name: example.assistant.name };
const asked = { model: model.id, messages: [{ role: 'system', content: 'Answer in one sentence.' }, { role: 'user', content: example.question }] };
const completionId = `chatcmpl-${example.ids.turn.slice('turn_'.length)}`;
const usage = { prompt_tokens: 38, completion_tokens: 13, total_tokens: 51 };
const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: completionId, object: 'chat.completion.chunk', created, model: model.id, choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] })}\n\n`;
const unknown = '404 `model_not_found` is for a model that is unknown or not on the key\'s list.';

export const openai: Area = {
  name: "OpenAI's API",
  group: 'API',
  description: `For clients that speak OpenAI's API: set their base URL to \`/v1\` of this server, their key to an API key, and their model to an assistant's alias or id. An assistant with required visitor fields has no way in here. \
A failure is \`{"error": {message, type, param, code}, "request_id"}\`: code and message are those of the other paths, and 422 is 400.`,
  entries: {
    'GET /v1/models': { does: 'Returns the published assistants that the key reaches, all of them, newest first. `id` is the alias, or the id of an assistant without one.', answer: { object: 'list', data: [model] } },
    'GET /v1/models/{id}': { does: 'Returns one of them, by alias or id.', surprises: unknown, answer: model },
    'POST /v1/chat/completions': {
      does: `Answers the last message, which is the user's, or the results of calls. Each request makes a session of one turn; its earlier messages go to the model and are not stored. With \`X-Conversation-Id\` the session of that name goes on, or a new one begins: \
that one stores the earlier messages, and later only the last message counts. \`system\` and \`developer\` messages follow the assistant's prompt, \`max_tokens\` and \`max_completion_tokens\` lower its bound, \`tools\` are the caller's own functions; other settings are the assistant's, whatever the request says. \
A client that leaves aborts the turn. Without \`stream\` a turn that failed is answered with its error's status; what it has said stays in the transcript of \`X-Session-Id\`. Bodies may have 1 MiB.`,
      repeat: 'Without an `Idempotency-Key` a repeat asks again, in a session of its own or in the named one.',
      surprises: `${unknown} 400 with \`param\`: parts that are no text, \`n\` over 1, \`response_format\` other than text, \`logprobs\`, \`audio\`, \`functions\`, a \`tool_choice\` but \`auto\` and \`none\`, a function that has the name of one of the assistant's. \`X-Should-Retry: false\` comes with each 409 and with \`assistant_unavailable\`.`,
      headers: { 'Idempotency-Key': example.idempotencyKey },
      body: asked,
      answer: { id: completionId, object: 'chat.completion', created, model: model.id, choices: [{ index: 0, message: { role: 'assistant', content: example.reply, refusal: null }, logprobs: null, finish_reason: 'stop' }], usage },
      exports: { 'text/event-stream': `${chunk({ role: 'assistant', content: '' })}${chunk({ content: example.reply })}${chunk({}, 'stop')}data: [DONE]\n\n` },
    },
    'POST /v1/audio/speech': {
      does: 'Speaks a text, as `POST /speech` does under its own names: `input` is the text, and `response_format` is `mp3` unless it says otherwise.',
      repeat: 'A repeat speaks again, and is charged again.',
      surprises: `${unknown} The refusals are those of \`POST /speech\`.`,
      body: { model: model.id, input: 'We are open from nine to six.' },
    },
  },
};
