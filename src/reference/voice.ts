/** What the reference says of speech and transcription. */
import { limits } from '../limits.ts';
import type { Area } from './entry.ts';
import * as example from './examples.ts';

const unavailable = 'No voice provider is in this version: a request that passes every check is 503 `voice_unavailable`.';
const order = 'The checks come in this order: 404 `assistant_not_found`, 403 `assistant_not_permitted`, then the assistant\'s state (409), then 409 `voice_disabled`.';

export const voice: Area = {
  name: 'Voice',
  group: 'API',
  description: `Speech and transcription, where the assistant's \`channels.voice\` is on. ${unavailable}`,
  entries: {
    'POST /speech': {
      does: `Speaks a text of at most ${limits.speechCharactersMax} Unicode code points; the answer is audio. ${unavailable}`,
      repeat: 'A repeat speaks the text again, and is charged again.',
      surprises: `${order} A 429 of the budget of speech leaves the budget of requests as it was.`,
      body: { assistant_id: example.ids.assistant, text: 'We are open from nine to six.', format: 'wav' },
    },
    'POST /transcription-tokens': {
      does: `Returns a token that opens one transcription socket. The token is good for 60 seconds, and is used up when the socket opens, not when an upgrade is refused. \
With \`session_id\` the socket belongs to that session and ends with it. ${unavailable}`,
      repeat: 'A repeat makes a second token; the first stays good.',
      surprises: `${order} A session of another assistant is 422 \`invalid_request\`.`,
      body: { assistant_id: example.ids.assistant, session_id: example.ids.session },
      answer: example.transcriptionToken,
    },
    'GET /transcription': {
      does: `Becomes a WebSocket on which speech is sent and text comes back. The token of \`POST /transcription-tokens\` is sent as \`?token=\` or as the subprotocol \`token.TOKEN\`; \
no API key is needed. ${unavailable.replace('a request that passes every check is 503 `voice_unavailable`', 'no token is made, so every token is 401 `invalid_token`')}`,
      repeat: 'A token opens one socket; the next one needs a token of its own.',
      surprises: 'A token that is unknown, used up or older than 60 seconds is 401 `invalid_token`.',
    },
  },
};
