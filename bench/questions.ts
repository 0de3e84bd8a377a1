/** Every question, in the order in which they are asked. */
import type { Question } from './harness/question.ts';
import { call } from './questions/call.ts';
import { client } from './questions/client.ts';
import { firstToken } from './questions/first-token.ts';
import { limiter } from './questions/limiter.ts';
import { processes } from './questions/processes.ts';
import { relay } from './questions/relay.ts';
import { rooms } from './questions/rooms.ts';
import { sessions } from './questions/sessions.ts';
import { start } from './questions/start.ts';
import { store } from './questions/store.ts';
import { openStreams } from './questions/streams.ts';
import { tools } from './questions/tools.ts';
import { transcripts } from './questions/transcripts.ts';
import { turn } from './questions/turn.ts';
import { voice } from './questions/voice.ts';

export const questions: readonly Question[] = [
  relay,
  turn,
  tools,
  firstToken,
  openStreams,
  sessions,
  transcripts,
  limiter,
  store,
  processes,
  start,
  client,
  voice,
  call,
  rooms,
];
