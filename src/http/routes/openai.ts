/** OpenAI's API (contract 14). */
import type { TSchema } from 'typebox';
import { limits } from '../../base/limits.ts';
import { chatCompletions } from '../openai/chat.ts';
import { getModel, listModels } from '../openai/models.ts';
import { createResponse, deleteResponse, getResponse } from '../openai/responses.ts';
import { audioSpeech } from '../openai/speech.ts';
import type { Route, Success } from '../request.ts';
import * as wire from '../../wire/wire.ts';
import { api, json } from './row.ts';

const onModel = ['model_not_found', 'missing_visitor_fields', 'assistant_not_published', 'assistant_disabled'] as const;

const onWishes = ['text_only', 'not_supported'] as const;

const onResponse = ['turn_not_found', 'assistant_not_permitted'] as const;

/** An answer that comes whole, or with `stream` as events. */
const wholeOrStream = (schema: TSchema, description: string): Success => ({
  ...json(schema, description, 200, ['X-Session-Id', 'X-Turn-Id', 'Cache-Control', 'X-Accel-Buffering']),
  exports: ['text/event-stream'],
});

export const openaiRoutes: readonly Route[] = [
  api('GET', '/v1/models', listModels, {
    summary: 'Lists the published assistants that the key reaches.',
    success: json(wire.ModelList, 'The assistants.'),
  }),
  api('GET', '/v1/models/{id}', getModel, {
    summary: 'Fetches a published assistant.',
    success: json(wire.ModelView, 'The assistant.'),
    errors: onModel,
  }),
  api('POST', '/v1/chat/completions', chatCompletions, {
    summary: 'Answers a conversation.',
    body: wire.ChatCompletionBody,
    success: wholeOrStream(wire.ChatCompletionView, 'The answer; with `stream` it comes as chunks.'),
    errors: [
      ...onModel,
      ...onWishes,
      'idempotency_mismatch',
      'session_not_found',
      'session_ended',
      'session_expired',
      'turn_in_progress',
      'assistant_unavailable',
    ],
    newWork: true,
    repeatable: true,
  }),
  api('POST', '/v1/responses', createResponse, {
    summary: 'Answers, in a session that can go on.',
    body: wire.ResponseBody,
    success: wholeOrStream(wire.ResponseView, 'The response; with `stream` it comes as events.'),
    errors: [
      ...onModel,
      ...onWishes,
      'idempotency_mismatch',
      'session_not_found',
      'assistant_not_permitted',
      'session_ended',
      'session_expired',
      'turn_in_progress',
      'assistant_unavailable',
    ],
    newWork: true,
    repeatable: true,
  }),
  api('GET', '/v1/responses/{id}', getResponse, {
    summary: 'Fetches a response.',
    success: json(wire.ResponseView, 'The response.'),
    errors: onResponse,
  }),
  api('DELETE', '/v1/responses/{id}', deleteResponse, {
    summary: 'Ends the session of a response.',
    success: json(wire.DeletedResponseView, 'It cannot be continued any more.'),
    errors: onResponse,
  }),
  api('POST', '/v1/audio/speech', audioSpeech, {
    summary: 'Speaks a text.',
    body: wire.CompletionSpeechBody,
    tooLong: { input: { name: 'text_too_long', limit: limits.speechCharactersMax } },
    success: {
      status: 200,
      description: 'The audio.',
      content: { type: 'audio/mpeg', schema: wire.Audio },
      headers: ['X-Accel-Buffering', 'X-Audio-Sample-Rate'],
      exports: ['audio/wav', 'audio/pcm', 'audio/ogg'],
    },
    errors: [
      'model_not_found',
      'text_too_long',
      'assistant_not_published',
      'assistant_disabled',
      'voice_disabled',
      'voice_unavailable',
    ],
    newWork: true,
    budget: 'speech',
  }),
];
