/** The paths that become a WebSocket (contract 8 and 9). */
import { Type } from 'typebox';
import { actorKinds } from '../../../machines/all.ts';
import { watchActors } from '../console/inspect.ts';
import { openCall } from '../handlers/calls.ts';
import { openTranscription } from '../handlers/transcription.ts';
import { openRealtime } from '../openai/realtime.ts';
import { realtimePath } from '../paths.ts';
import { CallQuery, RealtimeQuery, TranscriptionQuery } from '../../wire/wire.ts';
import type { Route } from '../request.ts';
import { callSocket, keySocket, operatorSocket, tokenSocket } from './row.ts';

const only = (description: string) => Type.Optional(Type.String({ description }));

const onVoice = [
  ...([
    'invalid_field',
    'invalid_token',
    'assistant_not_found',
    'assistant_not_permitted',
    'session_not_found',
    'session_ended',
    'session_expired',
  ] as const),
  ...(['assistant_not_published', 'assistant_disabled', 'voice_disabled', 'voice_unavailable'] as const),
];

export const socketRoutes: readonly Route[] = [
  tokenSocket('/transcription', openTranscription, {
    summary: 'Transcribes speech: audio in, text out.',
    query: TranscriptionQuery,
    errors: onVoice,
    newWork: true,
  }),
  callSocket('/call', openCall, {
    summary: 'A spoken conversation on a session: audio both ways.',
    query: CallQuery,
    errors: [...onVoice, 'session_taken'],
    newWork: true,
  }),
  keySocket(realtimePath, openRealtime, {
    summary: "A call for clients of OpenAI's Realtime API.",
    query: RealtimeQuery,
    errors: [
      ...onVoice.filter((name) => name !== 'invalid_token' && name !== 'assistant_not_found'),
      'model_not_found',
      'missing_visitor_fields',
    ],
    newWork: true,
    budget: 'transcriptionTokens',
  }),
  operatorSocket('/console/api/inspect', 'live.read', watchActors, {
    summary: 'Shows live actors, their events and snapshots.',
    query: Type.Object({
      workspace: only('Of this workspace.'),
      kind: Type.Optional(
        Type.Union(
          actorKinds.map((name) => Type.Literal(name)),
          { description: 'Of this kind.' },
        ),
      ),
      id: only('The actor with this id.'),
      format: Type.Optional(Type.Literal('stately', { description: "The messages of Stately's inspection protocol." })),
    }),
    newWork: true,
  }),
];
