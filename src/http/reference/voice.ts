/** The reference's texts on speech and transcription. */
import { limits } from '../../base/limits.ts';
import { listOf, type Area } from './entry.ts';
import * as example from './examples.ts';
import { closesText } from './socket.ts';

const states =
  'then the state of the assistant (409 `assistant_not_published` or `assistant_disabled`), 409 `voice_disabled`, and the provider (503)';
const noProvider =
  '503 `voice_unavailable` means that the provider failed, is not offered by this server, or lacks its credential: do not retry.';

export const voice: Area = {
  name: 'Voice',
  group: 'API',
  description: `Speech and transcription, where the assistant's \`channels.voice\` is on. Its provider is set in the console (\`voice\`); without a setting it is the embedded one, which is English alone, runs on this server and needs no credential.`,
  entries: {
    'GET /voices': {
      does: `Returns the voices that the assistant's provider offers, each with its language and the rate of its audio. A provider behind \`/audio/speech\` has no list to ask for: \
there the list has the assistant's own voice alone, and \`POST /speech\` passes on any \`voice\` of 1 to 64 characters. \`limit\` and \`after\` page through the list.`,
      surprises:
        "An assistant that the key does not reach is 404 `assistant_not_found`, as in every list. The assistant's state does not matter.",
      query: { assistant_id: example.ids.assistant, limit: 10 },
      answer: listOf(...example.voices),
    },
    'POST /speech': {
      does: `Speaks a text of at most ${limits.speechCharactersMax} Unicode code points, sentence by sentence: the first sentence is sent while the next is made. The answer is audio, mono, in the requested \`format\`:

- \`wav\` (the default): \`audio/wav\`, 16-bit PCM.
- \`pcm\`: \`audio/pcm;rate=RATE;channels=1\`, the same samples without a header, little endian.
- \`mp3\`: \`audio/mpeg\`.
- \`opus\`: \`audio/ogg;codecs=opus\`.

\`X-Audio-Sample-Rate\` is the rate that was encoded. With \`"stream": false\`, and as a \`wav\` of one sentence, the audio is sent whole, with its length. Otherwise it is sent in chunks; \
a \`wav\` then has \`0xFFFFFFFF\` in both size fields, and nothing follows its data. The status waits for the first sentence's audio: a later failure cuts the connection without a clean end. A client that leaves stops the work.`,
      cost: 'Usage counts the code points of each sentence whose synthesis began (`speech_characters`); a 503 counts nothing.',
      repeat: 'A repeat speaks the text again, and is charged again.',
      surprises: `A text without a letter or digit is 422 \`invalid_request\`, one that is too long 422 \`text_too_long\`. Then come 404 \`assistant_not_found\`, 403 \`assistant_not_permitted\`, 422 for a \`voice\` that the provider does not offer and for a \`text\` of which the voice can say nothing, as of another script, ${states}. \
${noProvider} 503 \`assistant_unavailable\` is the rate limit of the provider. A 429 of the budget of speech leaves the budget of requests as it was.`,
      body: { assistant_id: example.ids.assistant, text: 'We are open from nine to six.', format: 'wav' },
    },
    'POST /transcription-tokens': {
      does: `Returns a token that opens one transcription socket, and the address to open it at. The token is good for ${limits.transcriptionTokenMs / 1000} seconds, on every process of the installation, and is used up when the socket opens: \
a refused upgrade leaves it good. It can be given to a browser, which then needs no API key. With \`session_id\` the socket belongs to that session, and is closed at its end or deadline.`,
      repeat: 'A repeat makes a second token; the first stays good.',
      surprises: `The checks come in this order: 404 \`assistant_not_found\` and \`session_not_found\`, 403 \`assistant_not_permitted\`, 422 \`invalid_request\` for a session of another assistant, 409 \`session_ended\` or \`session_expired\`, ${states}. ${noProvider}`,
      body: { assistant_id: example.ids.assistant, session_id: example.ids.session },
      answer: example.transcriptionToken,
    },
    'GET /transcription': {
      does: `Becomes a WebSocket on which audio is sent and text comes back. The token of \`POST /transcription-tokens\` is sent as \`?token=\` or as the subprotocol \`token.TOKEN\`; no API key is needed. \
Its messages are described in \`/asyncapi.json\`, with a schema and an example each. The shortest conversation:

- The server sends \`{"type":"ready",…}\`.
- The client sends audio, as binary messages: by default 16-bit PCM, mono, at 16,000 Hz.
- The server sends \`speech.started\`, \`transcript.partial\` as the text grows, \`speech.stopped\` and \`transcript.final\`, for each utterance.
- The client sends \`{"type":"finish"}\`; the server sends the finals that it owes and \`{"type":"done",…}\`, and closes with 1000.

The settings of the audio are in the query, or in a message \`{"type":"start",…}\` before the first audio. Audio may come up to ${limits.socketAudioMsMax / 1000} seconds ahead of its time. \
Every other close comes after a message \`{"type":"error","code","message"}\`:

${closesText}`,
      cost: 'Usage counts the whole seconds of audio taken (`transcription_seconds`), once a minute and at the end.',
      repeat: 'A token opens one socket; the next one needs a token of its own.',
      surprises: `A token that is unknown, used up or too old, or whose API key was revoked since, is 401 \`invalid_token\`. Settings that are not supported are 422 \`invalid_request\` at the upgrade. \
A state that refuses the socket is 409, and leaves the token good. 503 \`api_error\` with \`Retry-After\` means that the server is full or drains: the token stays good here too. A request for this path without an upgrade is 404 \`route_not_found\`.`,
      query: { token: example.ids.token, sample_rate: 24_000 },
    },
    'POST /call-tokens': {
      does: `Returns a token that opens one call on a session, and the address to open it at. The token is good for ${limits.transcriptionTokenMs / 1000} seconds, on every process of the installation, and is used up when the call opens: \
a refused upgrade leaves it good.`,
      cost: 'One from the budget of transcription tokens, beside the budget of requests.',
      repeat: 'A repeat makes a second token; the first stays good.',
      surprises: `The checks come in this order: 404 \`session_not_found\`, 403 \`assistant_not_permitted\`, 409 \`session_ended\` or \`session_expired\`, ${states}. ${noProvider}`,
      body: { session_id: example.ids.session },
      answer: example.callToken,
    },
    'GET /call': {
      does: `Becomes a WebSocket on which a person talks with the assistant, on the session of the token. Audio goes both ways as binary messages: by default 16-bit PCM, mono, at 16,000 Hz. Its messages are described in \`/asyncapi.json\`, with a schema and an example each. The shortest call:

- The server sends \`{"type":"ready",…}\`, then \`{"type":"state","state":"listening"}\`, and a state at each change.
- The client sends audio all the time. When the person has been silent for \`turn_silence_ms\`, the server sends \`turn.started\` with their words.
- The server sends \`audio.start\`, audio and \`audio.end\`, and the text in \`message.delta\` as it is heard. The client sends \`{"type":"played","message_id","samples"}\` every 250 ms.
- When all was heard, the server sends \`turn.completed\`. The transcript has what was heard, no more.
- The client sends \`{"type":"hangup"}\`; the server sends \`{"type":"ended","reason":"hangup"}\` and closes with 1000.

A session has one call at a time: a newer one takes the place of an earlier one.`,
      cost: 'Usage counts the seconds of audio taken, the characters of sentences spoken, and turns and tokens as for a chat.',
      repeat: 'A token opens one call; the next one needs a token of its own.',
      surprises:
        'A token that is unknown, used up or too old, or whose API key was revoked since, is 401 `invalid_token`. Settings that are not supported are 422 `invalid_request` at the upgrade. While a call has a turn, a chat on its session is refused, as while another chat runs.',
      query: { token: example.ids.token, turn_silence_ms: 700 },
    },
  },
};
