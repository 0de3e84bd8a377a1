/** The AsyncAPI 3.0 document of the transcription socket: the schemas of the validators that run, written out. */
import type { TSchema } from 'typebox';
import manifest from '../../../package.json' with { type: 'json' };
import { Components } from './openapi/components.ts';
import { ids } from './examples.ts';
import { closes, closesText, commands, socketEvents, type SocketMessage } from './socket.ts';
import * as wire from '../../base/wire.ts';

type Json = Record<string, unknown>;

const address = '/transcription';

const commandSchemas: Readonly<Record<keyof typeof commands, TSchema>> = { start: wire.StartMessage, flush: wire.FlushMessage, finish: wire.FinishMessage };

const introduction = `Speech to text on a WebSocket: a client sends audio, and is sent the text while it is spoken and when an utterance has ended. The rest of the API is in \`/openapi.json\`.

An API key mints a token with \`POST /transcription-tokens\`, and the token opens one socket within a minute. It is sent as \`?token=\` or as the subprotocol \`token.TOKEN\`, which is then answered. \
A refused upgrade has a status and an error body, as every request, and leaves the token good.

The least that a client does: send audio as binary messages, read \`transcript.final\`, send \`finish\`, and wait for the close with 1000. Everything else is optional. Audio may come up to ten seconds ahead of its time.

The operations are those of the server: it receives what a client sends.`;

/** The document as an object that `JSON.stringify` takes. */
export function asyncapiDocument(): Json {
  const components = new Components();
  const received = Object.fromEntries(Object.entries(commands).map(([name, one]) => [name, message(one, commandSchemas[name as keyof typeof commands], components)]));
  const sent = Object.fromEntries(Object.entries(socketEvents).map(([name, one]) => [name, message(one, wire.TranscriptionEvents[name as keyof typeof socketEvents], components)]));
  const messages: Json = { audio, ...received, ...sent };
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'parley: transcription',
      version: manifest.version,
      description: introduction,
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    defaultContentType: 'application/json',
    servers: { secure: server('wss', 'Behind a proxy that speaks TLS.'), plain: server('ws', 'The server itself.') },
    channels: { transcription: channel(Object.keys(messages), components) },
    operations: {
      receive: operation('receive', 'Takes audio and commands.', ['audio', ...Object.keys(received)]),
      send: operation('send', 'Sends the transcript.', Object.keys(sent)),
    },
    components: { messages, schemas: components.schemas, securitySchemes: { token: { type: 'httpApiKey', in: 'query', name: 'token', description: 'A transcription token.' } } },
  };
}

const refer = (path: string) => ({ $ref: `#/${path}` });

const server = (protocol: 'ws' | 'wss', description: string): Json => ({
  host: '{host}',
  protocol,
  description,
  variables: { host: { default: '127.0.0.1:8080', description: 'The host, and the port if it is not the usual one.' } },
  security: [refer('components/securitySchemes/token')],
});

/** Binary messages: the settings say how their bytes are encoded. */
const audio: Json = {
  name: 'audio',
  title: 'Audio',
  summary: 'A binary message: audio, mono. With `pcm_s16le` a half sample is carried over to the next message; with `opus` each message is one raw packet.',
  contentType: 'application/octet-stream',
  payload: { type: 'string', format: 'binary', description: 'Bytes of audio in the encoding of the settings, of any length up to 1 MiB.' },
};

const message = ({ title, does, example }: SocketMessage, schema: TSchema, components: Components): Json => ({
  name: (example as { type: string }).type,
  title,
  summary: does,
  contentType: 'application/json',
  payload: components.reference(schema),
  examples: [{ name: 'example', payload: example }],
});

/** The query, and the meanings of the close codes, for which AsyncAPI has no place of its own. */
function channel(messages: readonly string[], components: Components): Json {
  const query = components.inline(wire.TranscriptionQuery) as { properties: Json };
  const { token, ...settings } = query.properties as { token: Json };
  return {
    address,
    title: 'The transcription socket',
    description: `Every \`speech.started\` is followed by exactly one \`transcript.final\` while the socket lives, and stable text never changes. The socket is closed with one of these codes, \
after an \`error\` with one of the codes that are named:\n\n${closesText}`,
    messages: Object.fromEntries(messages.map((name) => [name, refer(`components/messages/${name}`)])),
    bindings: { ws: { method: 'GET', query: { type: 'object', properties: { token: { ...token, examples: [ids.token] }, ...settings } }, bindingVersion: '0.1.0' } },
    'x-close-codes': closes,
  };
}

const operation = (action: 'receive' | 'send', summary: string, messages: readonly string[]): Json => ({
  action,
  channel: refer('channels/transcription'),
  summary,
  messages: messages.map((name) => refer(`channels/transcription/messages/${name}`)),
});
