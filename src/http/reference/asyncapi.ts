/** The AsyncAPI 3.0 document of the sockets for speech: the schemas of the validators that run, written out. */
import type { TObject, TSchema } from 'typebox';
import manifest from '../../../package.json' with { type: 'json' };
import { Components } from './openapi/components.ts';
import { callCloses, callCommands, callEvents } from './call.ts';
import { ids } from './examples.ts';
import { closes, closesIn, commands, socketEvents, type SocketClose, type SocketMessage } from './socket.ts';
import * as wire from '../../wire/wire.ts';

type Json = Record<string, unknown>;

const introduction = `Two WebSockets for speech. On \`/transcription\` a client sends audio, and is sent the text while it is spoken and when an utterance has ended. On \`/call\` a person talks with an assistant: audio goes both ways, and the session's transcript has what was said and what was heard. The rest of the API is in \`/openapi.json\`; \`/v1/realtime\` is the same call in the events of OpenAI's Realtime API, whose reference describes them.

An API key mints a token with \`POST /transcription-tokens\` or \`POST /call-tokens\`, and the token opens one socket within a minute. It is sent as \`?token=\` or as the subprotocol \`token.TOKEN\`, which is then answered. \
A refused upgrade has a status and an error body, as every request, and leaves the token good.

The least that a client of \`/transcription\` does: send audio as binary messages, read \`transcript.final\`, send \`finish\`, and wait for the close with 1000. The least in a call: send audio all the time, play what comes behind \`audio.start\`, drop it at \`audio.clear\`, hold it between \`audio.pause\` and \`audio.resume\`, and send \`hangup\`. Everything else is optional. Audio may come up to ten seconds ahead of its time.

The operations are those of the server: it receives what a client sends.`;

/** One socket: its messages by their names in the document. */
interface Channel {
  readonly name: 'transcription' | 'call';
  readonly title: string;
  readonly does: string;
  readonly query: TObject;
  readonly closes: readonly SocketClose[];
  readonly received: Json;
  readonly sent: Json;
}

/** The document as an object that `JSON.stringify` takes. */
export function asyncapiDocument(): Json {
  const components = new Components();
  const all = <Name extends string>(
    texts: Readonly<Record<Name, SocketMessage>>,
    schemas: Readonly<Record<Name, TSchema>>,
    prefix = '',
  ): Json =>
    Object.fromEntries(
      Object.entries<SocketMessage>(texts).map(([name, one]) => [
        prefix + name,
        message(one, schemas[name as Name], components),
      ]),
    );
  const channels: readonly Channel[] = [
    {
      ...{ name: 'transcription', title: 'The transcription socket', query: wire.TranscriptionQuery, closes },
      does: 'Every `speech.started` is followed by exactly one `transcript.final` while the socket lives, and stable text never changes.',
      received: {
        audio,
        ...all(commands, { start: wire.StartMessage, flush: wire.FlushMessage, finish: wire.FinishMessage }),
      },
      sent: all(socketEvents, wire.TranscriptionEvents),
    },
    {
      ...{ name: 'call', title: 'The call', query: wire.CallQuery, closes: callCloses },
      does: 'Text of a reply is sent as it is heard, and the transcript has no more of it. Each `audio.pause` is followed by one `audio.resume` or `audio.clear` of the same message.',
      received: { 'call.audio': audio, ...all(callCommands, wire.CallMessages, 'call.') },
      sent: { 'call.reply': reply, ...all(callEvents, wire.CallEvents, 'call.') },
    },
  ];
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'parley: speech',
      version: manifest.version,
      description: introduction,
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    defaultContentType: 'application/json',
    servers: { secure: server('wss', 'Behind a proxy that speaks TLS.'), plain: server('ws', 'The server itself.') },
    channels: Object.fromEntries(channels.map((one) => [one.name, channel(one, components)])),
    operations: {
      receive: operation('receive', 'transcription', 'Takes audio and commands.', channels[0]!.received),
      send: operation('send', 'transcription', 'Sends the transcript.', channels[0]!.sent),
      hear: operation(
        'receive',
        'call',
        "Takes the person's audio, reports of what was played, and commands.",
        channels[1]!.received,
      ),
      speak: operation(
        'send',
        'call',
        'Sends the reply, its text as it is heard, and what becomes of it.',
        channels[1]!.sent,
      ),
    },
    components: {
      messages: Object.assign({}, ...channels.flatMap(({ received, sent }) => [received, sent])) as Json,
      schemas: components.schemas,
      securitySchemes: {
        token: {
          type: 'httpApiKey',
          in: 'query',
          name: 'token',
          description: 'A transcription token or a call token.',
        },
      },
    },
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
const binary = (name: string, title: string, summary: string, description: string): Json => ({
  ...{ name, title, summary: `A binary message: ${summary}`, contentType: 'application/octet-stream' },
  payload: { type: 'string', format: 'binary', description },
});

const audio = binary(
  ...([
    'audio',
    'Audio',
    'audio, mono. With `pcm_s16le` a half sample is carried over to the next message; with `opus` each message is one raw packet.',
  ] as const),
  'Bytes of audio in the encoding of the settings, of any length up to 1 MiB.',
);

const reply = binary(
  'reply',
  'Audio of a reply',
  'at most 100 ms of audio of the message that the last `audio.start` has named.',
  'Bytes of audio in the encoding of the output.',
);

const message = ({ title, does, example }: SocketMessage, schema: TSchema, components: Components): Json => ({
  name: (example as { type: string }).type,
  title,
  summary: does,
  contentType: 'application/json',
  payload: components.reference(schema),
  examples: [{ name: 'example', payload: example }],
});

/** Describes the query and the meanings of the close codes in text, since AsyncAPI has no field for them. */
function channel({ name, title, does, query, closes, received, sent }: Channel, components: Components): Json {
  const { token, ...settings } = (components.inline(query) as { properties: { token: Json } }).properties;
  return {
    address: `/${name}`,
    title,
    description: `${does} The socket is closed with one of these codes, after an \`error\` with one of the codes that are named:\n\n${closesIn(closes)}`,
    messages: Object.fromEntries(
      Object.keys({ ...received, ...sent }).map((each) => [each, refer(`components/messages/${each}`)]),
    ),
    bindings: {
      ws: {
        method: 'GET',
        query: { type: 'object', properties: { token: { ...token, examples: [ids.token] }, ...settings } },
        bindingVersion: '0.1.0',
      },
    },
    'x-close-codes': closes,
  };
}

const operation = (action: 'receive' | 'send', channel: Channel['name'], summary: string, messages: Json): Json => ({
  action,
  channel: refer(`channels/${channel}`),
  summary,
  messages: Object.keys(messages).map((name) => refer(`channels/${channel}/messages/${name}`)),
});
