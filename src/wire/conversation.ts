/** The API's own shapes (contract 6 and 7). */
import { Type, type Static, type TSchema } from 'typebox';
import { limits } from '../base/limits.ts';
import { toolErrors } from '../base/tool-errors.ts';
import { encodings, speechFormats } from '../base/audio-formats.ts';
import {
  Id,
  indexQuery,
  listOf,
  mapOf,
  messagesQuery,
  metadataOf,
  named,
  Nullable,
  recordsQuery,
  Strings,
  Text,
  UnixSeconds,
} from './basics.ts';

export const VisitorField = named(
  'VisitorField',
  Type.Object({
    name: Text(64),
    label: Text(limits.nameCharactersMax),
    type: Strings(['text', 'email', 'number', 'boolean']),
    required: Type.Boolean(),
  }),
);

const VersionNumber = (description: string) => Nullable(Type.Integer({ description }));

export const AssistantView = named(
  'Assistant',
  Type.Object({
    id: Id('asst'),
    object: Type.Literal('assistant'),
    name: Type.String(),
    description: Nullable(Type.String()),
    status: Strings(['draft', 'published', 'disabled']),
    greeting: Nullable(Type.String()),
    channels: Type.Object({ voice: Type.Boolean(), link: Type.Boolean(), widget: Type.Boolean() }),
    visitor_fields: Type.Array(VisitorField),
    max_call_seconds: Type.Integer(),
    version: VersionNumber('The number of the version that new sessions get; null before the first.'),
    created_at: UnixSeconds(),
    updated_at: UnixSeconds(),
  }),
);
export const AssistantList = listOf('AssistantList', AssistantView);

export const channels = ['api', 'link', 'widget', 'console', 'test'] as const;

/** Arguments of a call of a tool. */
const ToolArguments = (description = 'Null if the model gave no JSON object.') =>
  Type.Union([mapOf(Type.Unknown()), Type.Null()], { description });

const PendingToolCall = () =>
  Type.Object({
    call_id: Id('call'),
    name: Type.String(),
    arguments: ToolArguments(),
    wants: Strings(['result', 'approval']),
  });

const toolStatuses = ['running', 'pending', 'completed', 'failed', 'declined', 'cancelled', 'unknown'] as const;
const noResults = [...toolErrors, 'declined', 'cancelled', 'unknown'] as const;

/** A call in a message. */
const ToolCallView = named(
  'ToolCall',
  Type.Object({
    id: Id('call'),
    object: Type.Literal('tool_call'),
    name: Type.String(),
    position: Type.Integer({ description: 'Code points of `content` before it.' }),
    status: Strings(toolStatuses),
    error: Nullable(Strings(noResults)),
    arguments: ToolArguments('Null unless the function shows them.'),
    output: Type.Union([Type.String(), Type.Null()], { description: 'Null unless the function shows it.' }),
    created_at: UnixSeconds(),
    ended_at: Nullable(UnixSeconds()),
  }),
);

const visitorProof = {
  visitor_verified: Type.Boolean({ description: 'Whether the site has signed who the visitor is.' }),
  visitor_id: Nullable(
    Type.String({ description: 'Of a verified visitor: the same on every device. Null for anybody else.' }),
  ),
};

/** The party that answers the visitor of a session. */
export const AttendanceView = named(
  'Attendance',
  Type.Object({
    state: Strings(
      ['assistant', 'waiting', 'person'],
      '`waiting`: the visitor waits for a person. `person`: a person answers, and the assistant is silent.',
    ),
    since: UnixSeconds(),
    person: Nullable(Type.Object({ name: Type.String() })),
  }),
);

export const SessionView = named(
  'Session',
  Type.Object({
    id: Id('ses'),
    object: Type.Literal('session'),
    assistant_id: Id('asst'),
    status: Strings(['open', 'ended', 'expired']),
    active_turn_id: Nullable(Id('turn')),
    active_call_id: Nullable(Id('call')),
    pending_tool_calls: Type.Array(PendingToolCall(), {
      description: 'What waits for `tool_results`, or for the next message to decline it.',
    }),
    channel: Strings(channels),
    visitor: mapOf(Type.Union([Type.String(), Type.Number(), Type.Boolean()])),
    ...visitorProof,
    metadata: mapOf(Type.String()),
    max_call_seconds: Type.Integer(),
    assistant_version: VersionNumber("The number of the assistant's version that answers; null in a trial."),
    attendance: AttendanceView,
    created_at: UnixSeconds(),
    expires_at: UnixSeconds(),
    ended_at: Nullable(UnixSeconds()),
  }),
);
export const SessionList = listOf('SessionList', SessionView);

export const stopReasons = ['end', 'length', 'aborted', 'error', 'expired', 'tool_calls', 'taken'] as const;

const FeedbackView = () =>
  Nullable(
    Type.Object(
      {
        rating: Strings(ratings),
        comment: Nullable(Type.String({ description: 'Null for a visitor.' })),
        at: UnixSeconds(),
      },
      { description: 'Of a reply that was rated; null for any other.' },
    ),
  );

const ratings = ['up', 'down'] as const;

export const RateTurnBody = named(
  'RateTurn',
  Type.Object({
    rating: Strings(ratings),
    comment: Type.Optional(Nullable(Text(limits.feedbackCharactersMax, 0))),
  }),
);
export type RateTurnBody = Static<typeof RateTurnBody>;

export const TurnView = named(
  'Turn',
  Type.Object({
    id: Id('turn'),
    object: Type.Literal('turn'),
    session_id: Id('ses'),
    message_id: Id('msg'),
    status: Strings(['streaming', 'completed', 'aborted', 'failed']),
    stop_reason: Nullable(Strings(stopReasons)),
    error_code: Nullable(Type.String()),
    feedback: FeedbackView(),
    assistant_version: VersionNumber('The number of the version that answered; null in a trial.'),
    created_at: UnixSeconds(),
    ended_at: Nullable(UnixSeconds()),
  }),
);

export const ConsoleTurnView = named(
  'ConsoleTurn',
  Type.Object({
    ...TurnView.properties,
    model: Nullable(
      Type.Object(
        {
          provider: Type.String(),
          name: Type.String(),
          fallback: Type.Integer({ description: "0: the assistant's own model; else the place among its fallbacks." }),
        },
        { description: 'The model that was asked last; null while the turn streams.' },
      ),
    ),
  }),
);

export const MessageView = named(
  'Message',
  Type.Object({
    id: Id('msg'),
    object: Type.Literal('message'),
    turn_id: Nullable(Id('turn')),
    role: Strings(['user', 'assistant', 'person', 'notice']),
    content: Type.String(),
    status: Strings(['completed', 'partial', 'streaming']),
    stop_reason: Nullable(Strings(stopReasons)),
    error_code: Nullable(Type.String()),
    voice: Nullable(
      Type.Object(
        {
          audio_ms: Type.Integer({
            description: 'Of a reply the audio that was played, of a person from the first to the last voice.',
          }),
          heard: Type.Optional(Strings(['played', 'estimated', 'sent'], 'Of a reply: how it is known what was heard.')),
          cut_by: Type.Optional(Nullable(Strings(['speech', 'client', 'api', 'lost'], 'Of a reply: what cut it.'))),
        },
        { description: 'Of a message that was spoken in a call; null if it was typed.' },
      ),
    ),
    by: Type.Optional(
      Type.Object(
        { name: Type.String() },
        { description: "Of a person's message: who wrote it. Absent in other messages." },
      ),
    ),
    tool_calls: Type.Array(ToolCallView),
    feedback: FeedbackView(),
    ...visitorProof,
    assistant_version: VersionNumber("The number of the version that an assistant's message is from; else null."),
    created_at: UnixSeconds(),
  }),
);
export const MessageList = listOf('MessageList', MessageView);

const estimate =
  'where the provider counts none, one for every four code points of Latin, every two below U+2E80 and each from there on, rounded up,';
const tokenCounts = {
  input_tokens: Type.Integer({
    description: `As the provider counts; ${estimate} of the conversation's messages, the system prompt left out.`,
  }),
  cached_input_tokens: Type.Integer({
    description: 'Input tokens that the provider read from its cache, among `input_tokens`; 0 where it does not say.',
  }),
  output_tokens: Type.Integer({
    description: `As the provider counts; ${estimate} of the reply. For a reply that was cut, the larger of both.`,
  }),
};

const usageCounts = {
  sessions: Type.Integer(),
  turns: Type.Integer(),
  failed_turns: Type.Integer(),
  ...tokenCounts,
  speech_characters: Type.Integer(),
  transcription_seconds: Type.Integer(),
  tool_calls: Type.Integer({ description: 'Calls that were sent to tools.' }),
  feedback_up: Type.Integer({ description: 'Turns of this time that are rated up now.' }),
  feedback_down: Type.Integer({ description: 'Turns of this time that are rated down now.' }),
  person_messages: Type.Integer({ description: 'Messages of people of the desk.' }),
  handovers: Type.Integer({ description: 'Sessions that people of the desk have taken.' }),
};

export const UsageView = named(
  'Usage',
  Type.Object({
    object: Type.Literal('usage'),
    start: UnixSeconds(),
    end: UnixSeconds(),
    bucket: Strings(['day', 'hour']),
    data: Type.Array(Type.Object({ start: UnixSeconds(), ...usageCounts })),
    totals: Type.Object(usageCounts),
  }),
);

export const ErrorView = named(
  'Error',
  Type.Object({
    error: Type.Object({ type: Type.String(), code: Type.String(), message: Type.String() }),
    request_id: Id('req'),
  }),
);

/** The values of a visitor's fields, by name. */
export const VisitorValues = mapOf(
  Type.Union([Text(limits.visitorValueCharactersMax, 0), Type.Number(), Type.Boolean()]),
  { maxProperties: limits.visitorFieldsMax },
);

export const CreateSessionBody = named(
  'CreateSession',
  Type.Object({
    assistant_id: Text(limits.bodyBytesMax),
    visitor: Type.Optional(VisitorValues),
    metadata: Type.Optional(metadataOf()),
  }),
);
export type CreateSessionBody = Static<typeof CreateSessionBody>;

const ToolResult = Type.Object({
  call_id: Text(limits.bodyBytesMax),
  // A longer one is a fault of `message` (contract 13), so its bound is not looked at here.
  output: Type.Optional(
    Text(
      limits.bodyBytesMax,
      0,
      `The result of a call that wants one: at most ${limits.toolOutputCharactersMax} characters.`,
    ),
  ),
  approved: Type.Optional(
    Type.Boolean({
      description:
        'Whether a call that wants approval may be sent. What a visitor of the link was asked, no API key approves.',
    }),
  ),
});

export const ChatBody = named(
  'Chat',
  Type.Object({
    message: Type.Optional(Text(limits.messageCharactersMax)),
    tool_results: Type.Optional(
      Type.Array(ToolResult, {
        maxItems: limits.toolCallsTaken,
        description: 'Instead of a message: an answer to each call that waits.',
      }),
    ),
  }),
);
export type ChatBody = Static<typeof ChatBody>;

/** A request for a person. */
export const AskBody = named(
  'Ask',
  Type.Object({ reason: Type.Optional(Nullable(Text(limits.deskReasonCharactersMax, 0))) }),
);
export type AskBody = Static<typeof AskBody>;

export const SpeechBody = named(
  'Speech',
  Type.Object({
    assistant_id: Text(limits.bodyBytesMax),
    text: Text(limits.speechCharactersMax),
    format: Type.Optional(Strings(speechFormats, '`wav` if absent; `opus` is in Ogg.')),
    voice: Type.Optional(Text(limits.bodyBytesMax, 1, "An id of `GET /voices`; the assistant's own if absent.")),
    speed: Type.Optional(Type.Number({ minimum: 0.5, maximum: 2, default: 1 })),
    stream: Type.Optional(
      Type.Boolean({
        default: true,
        description: 'Whether the audio is sent as it is made; otherwise whole, with its length.',
      }),
    ),
  }),
);
export type SpeechBody = Static<typeof SpeechBody>;

/** The answer to it. */
export const Audio = named(
  'Audio',
  Type.Unsafe<Uint8Array>({ type: 'string', format: 'binary', description: 'Bytes of audio, mono.' }),
);

export const CreateTranscriptionTokenBody = named(
  'CreateTranscriptionToken',
  Type.Object({
    assistant_id: Text(limits.bodyBytesMax),
    session_id: Type.Optional(Text(limits.bodyBytesMax, 1, 'The session that the socket belongs to.')),
  }),
);
export type CreateTranscriptionTokenBody = Static<typeof CreateTranscriptionTokenBody>;

export const TranscriptionTokenView = named(
  'TranscriptionToken',
  Type.Object({
    object: Type.Literal('transcription_token'),
    token: Type.String({ pattern: '^tok_[\\w-]+$' }),
    url: Type.String({ description: 'Where it opens a socket.' }),
    expires_at: UnixSeconds(),
  }),
);

export const VoicesQuery = Type.Object({
  assistant_id: Text(limits.bodyBytesMax, 1, "The assistant whose provider's voices are listed."),
  ...indexQuery(),
});

export const VoiceView = named(
  'Voice',
  Type.Object({
    id: Type.String(),
    object: Type.Literal('voice'),
    name: Type.String(),
    language: Type.String({ description: 'A BCP 47 tag.' }),
    sample_rate: Type.Integer({ description: 'Hertz.' }),
  }),
);
export const VoiceList = listOf('VoiceList', VoiceView);

/** The settings of a socket's audio, in the query of the upgrade and in its `start`. */
export const audioSettings = {
  encoding: Type.Optional(Strings(encodings, '`pcm_s16le` if absent; `opus` is one raw packet in each message.')),
  sample_rate: Type.Optional(
    Type.Integer({ default: 16_000, description: 'Hertz, 8000 to 48000; ignored with `opus`.' }),
  ),
  language: Type.Optional(
    Type.String({ minLength: 1, maxLength: 64, description: "A BCP 47 tag that the assistant's provider takes." }),
  ),
  silence_ms: Type.Optional(
    Type.Integer({ minimum: 100, maximum: 2000, default: 300, description: 'Silence that ends an utterance.' }),
  ),
  partials: Type.Optional(Type.Boolean({ default: true, description: 'Whether the text is sent while it is spoken.' })),
};

export const TranscriptionQuery = Type.Object({
  token: Type.Optional(Type.String({ description: 'The token; the subprotocol `token.TOKEN` will do too.' })),
  ...audioSettings,
});
export type TranscriptionQuery = Static<typeof TranscriptionQuery>;

/** The messages that a client sends on a transcription socket, beside audio. */
export const StartMessage = named('TranscriptionStart', Type.Object({ type: Type.Literal('start'), ...audioSettings }));
export type StartMessage = Static<typeof StartMessage>;
export const FlushMessage = named('TranscriptionFlush', Type.Object({ type: Type.Literal('flush') }));
export const FinishMessage = named('TranscriptionFinish', Type.Object({ type: Type.Literal('finish') }));

const utterance = () => Type.Integer({ description: 'Counts from 1.' });
const milliseconds = () => Type.Integer({ description: 'Milliseconds of audio from its beginning.' });

/** The messages that the server sends on a transcription socket. */
export const TranscriptionEvents = {
  ready: named(
    'TranscriptionReady',
    Type.Object({
      type: Type.Literal('ready'),
      sample_rate: Type.Integer(),
      encoding: Strings(encodings),
      silence_ms: Type.Integer(),
      expires_at: Nullable(Type.Integer({ description: "Unix seconds: the session's, or null." })),
    }),
  ),
  started: named(
    'SpeechStarted',
    Type.Object({ type: Type.Literal('speech.started'), utterance: utterance(), at_ms: milliseconds() }),
  ),
  stopped: named(
    'SpeechStopped',
    Type.Object({ type: Type.Literal('speech.stopped'), utterance: utterance(), at_ms: milliseconds() }),
  ),
  partial: named(
    'TranscriptPartial',
    Type.Object({
      type: Type.Literal('transcript.partial'),
      utterance: utterance(),
      text: Type.String(),
      stable: Type.Integer({ description: 'Code points at the beginning of `text` that will not change.' }),
      start_ms: milliseconds(),
    }),
  ),
  final: named(
    'TranscriptFinal',
    Type.Object({
      type: Type.Literal('transcript.final'),
      utterance: utterance(),
      text: Type.String(),
      start_ms: milliseconds(),
      end_ms: milliseconds(),
      reason: Strings(['silence', 'flush', 'finish', 'length']),
    }),
  ),
  received: named('AudioReceived', Type.Object({ type: Type.Literal('audio.received'), audio_ms: milliseconds() })),
  done: named('TranscriptionDone', Type.Object({ type: Type.Literal('done'), audio_ms: milliseconds() })),
  error: named(
    'TranscriptionError',
    Type.Object({
      type: Type.Literal('error'),
      code: Type.String({ description: 'A code of the table of errors.' }),
      message: Type.String(),
    }),
  ),
};

const ofAssistant = (description: string) => Type.String({ description });

export const AssistantsQuery = Type.Object(recordsQuery('asst'));
export const SessionsQuery = Type.Object({
  ...recordsQuery('ses'),
  assistant_id: Type.Optional(ofAssistant('Only sessions of this assistant.')),
  status: Type.Optional(
    Strings(['open', 'ended', 'expired'], 'Only sessions with this status, at the moment of the request.'),
  ),
});
export const TranscriptQuery = Type.Object(messagesQuery());
export const EventsQuery = Type.Object({
  after: Type.Optional(
    Type.Integer({ minimum: 0, description: 'The `id` of the last event seen; wins over `Last-Event-ID`.' }),
  ),
});
export const UsageQuery = Type.Object({
  start: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Inclusive, Unix seconds; 30 days before `end` by default.' }),
  ),
  end: Type.Optional(Type.Integer({ minimum: 0, description: 'Exclusive, Unix seconds; now by default.' })),
  bucket: Type.Optional(Strings(['day', 'hour'], 'The length of a bucket; a day by default.')),
  assistant_id: Type.Optional(ofAssistant('Only usage of this assistant.')),
});

/** The data of each kind of event (contract 7). */
export const events = {
  'turn.started': named('TurnStarted', Type.Object({ turn_id: Id('turn'), message_id: Id('msg') })),
  'message.delta': named('MessageDelta', Type.Object({ text: Type.String() })),
  'tool.started': named(
    'ToolStarted',
    Type.Object({
      call_id: Id('call'),
      name: Type.String(),
      arguments: Type.Optional(ToolArguments('Where the function shows them.')),
    }),
  ),
  'tool.ended': named(
    'ToolEnded',
    Type.Object({
      call_id: Id('call'),
      name: Type.String(),
      status: Strings(toolStatuses),
      error: Nullable(Strings(noResults)),
      output: Type.Optional(Nullable(Type.String())),
    }),
  ),
  'turn.completed': named(
    'TurnCompleted',
    Type.Object({
      turn_id: Id('turn'),
      message_id: Id('msg'),
      stop_reason: Strings(['end', 'length', 'tool_calls']),
      tool_calls: Type.Optional(
        Type.Array(PendingToolCall(), {
          description: 'What waits for `tool_results`, with the stop reason `tool_calls`.',
        }),
      ),
      usage: Type.Object(tokenCounts),
    }),
  ),
  'turn.aborted': named(
    'TurnAborted',
    Type.Object({ turn_id: Id('turn'), message_id: Id('msg'), stop_reason: Strings(['aborted', 'taken']) }),
  ),
  'message.accepted': named('MessageAccepted', Type.Object({ message_id: Id('msg') })),
  error: named('ErrorEvent', Type.Object({ code: Type.String(), message: Type.String() })),
};

const streamed = <Data extends Readonly<Record<string, TSchema>>>(title: string, data: Data, id: string) =>
  named(
    title,
    Type.Array(
      Type.Union(
        Object.entries(data).map(([name, schema]) =>
          Type.Object({ event: Type.Literal(name), id: Type.String({ description: id }), data: schema }),
        ),
      ),
    ),
  );

/** The same on the wire: text, whose events the schema describes. */
const streamOf = (title: string, list: string, schema: TSchema) =>
  named(
    title,
    Type.Unsafe<string>({
      type: 'string',
      contentMediaType: 'text/event-stream',
      contentSchema: schema,
      description: `A stream of events; parsed, it has the shape of \`${list}\`.`,
    }),
  );

/** A turn's stream: its events in order, each with its data as one line of JSON. */
export const TurnEvents = streamed('TurnEvents', events, 'The code points of output up to and including this event.');
export const TurnStream = streamOf('TurnStream', 'TurnEvents', TurnEvents);

/** The data of each kind of event of a session's stream (contract 23). */
export const sessionEvents = {
  'message.created': MessageView,
  'turn.started': events['turn.started'],
  'turn.ended': named(
    'TurnEnded',
    Type.Object({ turn_id: Id('turn'), status: Strings(['completed', 'aborted', 'failed']) }),
  ),
  'attendance.changed': named('AttendanceChanged', Type.Object({ attendance: AttendanceView })),
  'session.ended': named('SessionEnded', Type.Object({ status: Strings(['ended', 'expired']) })),
};

export const SessionEvents = streamed(
  'SessionEvents',
  sessionEvents,
  'The number of the event in its session, from 1 and without gaps.',
);
export const SessionStream = streamOf('SessionStream', 'SessionEvents', SessionEvents);
export const SessionEventsQuery = Type.Object({
  after: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'The `id` of the last event seen; 0 for all events. Wins over `Last-Event-ID`.',
    }),
  ),
});
