/**
 * The shapes of the API (contract 6 and 7) as TypeScript. They are written out, so that a user's compiler needs nothing
 * but this file; test/client/types.test.ts proves them equal to the types of the server's validators.
 */

export type ErrorType =
  | 'invalid_request'
  | 'authentication_error'
  | 'permission_error'
  | 'not_found'
  | 'conflict'
  | 'rate_limit_error'
  | 'api_error'
  | 'service_unavailable';

export type ErrorCode =
  | 'missing_api_key'
  | 'invalid_api_key'
  | 'revoked_api_key'
  | 'expired_api_key'
  | 'invalid_token'
  | 'assistant_not_permitted'
  | 'role_not_permitted'
  | 'session_taken'
  | 'route_not_found'
  | 'assistant_not_found'
  | 'version_not_found'
  | 'session_not_found'
  | 'turn_not_found'
  | 'model_not_found'
  | 'assistant_not_published'
  | 'assistant_disabled'
  | 'session_ended'
  | 'session_expired'
  | 'turn_in_progress'
  | 'draft_changed'
  | 'tests_not_passed'
  | 'voice_disabled'
  | 'invalid_request'
  | 'missing_visitor_fields'
  | 'message_too_long'
  | 'text_too_long'
  | 'invalid_range'
  | 'assistant_unavailable'
  | 'voice_unavailable'
  | 'api_error'
  | 'rate_limited';

/** A page of a list. */
export interface List<T> {
  object: 'list';
  data: T[];
  has_more: boolean;
  /** Pass it as `after` for the next page. */
  next_cursor: string | null;
}

export interface VisitorField {
  name: string;
  label: string;
  type: 'text' | 'email' | 'number' | 'boolean';
  required: boolean;
}

/** Times are Unix seconds. */
export interface Assistant {
  id: string;
  object: 'assistant';
  name: string;
  description: string | null;
  status: 'draft' | 'published' | 'disabled';
  greeting: string | null;
  channels: { voice: boolean; link: boolean; widget: boolean };
  visitor_fields: VisitorField[];
  max_call_seconds: number;
  /** The number of the version that new sessions get; null before the first. */
  version: number | null;
  created_at: number;
  updated_at: number;
}

export interface Session {
  id: string;
  object: 'session';
  assistant_id: string;
  status: 'open' | 'ended' | 'expired';
  active_turn_id: string | null;
  active_call_id: string | null;
  pending_tool_calls: PendingToolCall[];
  channel: 'api' | 'link' | 'widget' | 'console' | 'test';
  visitor: Record<string, string | number | boolean>;
  visitor_verified: boolean;
  /** Present if the site has signed who the visitor is, else null; the same on every device. */
  visitor_id: string | null;
  metadata: Record<string, string>;
  max_call_seconds: number;
  /** The number of the assistant's version that answers; null in a trial of the console. */
  assistant_version: number | null;
  attendance: Attendance;
  created_at: number;
  expires_at: number;
  ended_at: number | null;
}

export interface NewSession {
  assistant_id: string;
  visitor?: Record<string, string | number | boolean>;
  metadata?: Record<string, string>;
}

/** A session of a link's visitor: of the link's own assistant. */
export type NewVisitorSession = Omit<NewSession, 'assistant_id'>;

/** The party that answers the visitor of a session. */
export interface Attendance {
  state: 'assistant' | 'waiting' | 'person';
  since: number;
  person: { name: string } | null;
}

/** The public description of a link's assistant. */
export interface Link {
  object: 'link';
  slug: string;
  name: string;
  description: string | null;
  greeting: string | null;
  visitor_fields: VisitorField[];
  channels: { link: boolean; widget: boolean };
  /** `open` while the assistant is published. */
  status: 'open' | 'closed';
  /** Whether visitors can rate replies. */
  feedback: boolean;
  /** Whether visitors can ask for a person. */
  desk: boolean;
  /** Code points that a message has at most. */
  message_characters_max: number;
}

/** A visitor of a link, with the token that is sent instead of a key. */
export interface Visitor {
  object: 'visitor';
  id: string;
  token: string;
  expires_at: number;
}

/** `taken`: a person has taken the session. */
export type StopReason = 'end' | 'length' | 'aborted' | 'error' | 'expired' | 'tool_calls' | 'taken';

/** A call that waits for `tool_results`; the next message declines it. */
export interface PendingToolCall {
  call_id: string;
  name: string;
  arguments: Record<string, unknown> | null;
  wants: 'result' | 'approval';
}

/** An answer to a call that waits: its result, or whether it may be sent. */
export interface ToolResult {
  call_id: string;
  /** Up to 16,000 characters. */
  output?: string;
  approved?: boolean;
}

export type ToolStatus = 'running' | 'pending' | 'completed' | 'failed' | 'declined' | 'cancelled' | 'unknown';
export type ToolError =
  | 'arguments'
  | 'unknown_tool'
  | 'limit'
  | 'timeout'
  | 'unreachable'
  | 'refused'
  | 'too_large'
  | 'malformed'
  | 'declined'
  | 'cancelled'
  | 'unknown';

export interface ToolCall {
  id: string;
  object: 'tool_call';
  name: string;
  /** Code points of the message before it. */
  position: number;
  status: ToolStatus;
  error: ToolError | null;
  arguments: Record<string, unknown> | null;
  output: string | null;
  created_at: number;
  ended_at: number | null;
}

/** A turn as the API records it. */
export interface TurnRecord {
  id: string;
  object: 'turn';
  session_id: string;
  message_id: string;
  status: 'streaming' | 'completed' | 'aborted' | 'failed';
  stop_reason: StopReason | null;
  error_code: string | null;
  feedback: Feedback | null;
  /** The number of the version that answered. */
  assistant_version: number | null;
  created_at: number;
  ended_at: number | null;
}

/** The rating of a reply; a visitor gets no comment back. */
export interface Feedback {
  rating: 'up' | 'down';
  comment: string | null;
  at: number;
}

export interface Message {
  id: string;
  object: 'message';
  turn_id: string | null;
  role: 'user' | 'assistant' | 'person' | 'notice';
  /** The person who wrote it; absent in messages of other roles. */
  by?: { name: string };
  content: string;
  status: 'completed' | 'partial' | 'streaming';
  stop_reason: StopReason | null;
  error_code: string | null;
  /** The sound of a message that was spoken in a call; null if it was typed. */
  voice: {
    audio_ms: number;
    heard?: 'played' | 'estimated' | 'sent';
    cut_by?: 'speech' | 'client' | 'api' | 'lost' | null;
  } | null;
  tool_calls: ToolCall[];
  feedback: Feedback | null;
  visitor_verified: boolean;
  /** Present if the site has signed who the visitor is, else null; the same on every device. */
  visitor_id: string | null;
  /** The number of the version that an assistant's message is from; null for a user's. */
  assistant_version: number | null;
  created_at: number;
}

export interface UsageCounts {
  sessions: number;
  turns: number;
  failed_turns: number;
  input_tokens: number;
  output_tokens: number;
  speech_characters: number;
  transcription_seconds: number;
  tool_calls: number;
  cached_input_tokens: number;
  feedback_up: number;
  feedback_down: number;
  person_messages: number;
  handovers: number;
}

export interface Usage {
  object: 'usage';
  start: number;
  end: number;
  bucket: 'day' | 'hour';
  data: ({ start: number } & UsageCounts)[];
  totals: UsageCounts;
}

/** A voice that an assistant's provider has. */
export interface Voice {
  id: string;
  object: 'voice';
  name: string;
  /** A BCP 47 tag. */
  language: string;
  /** Hertz. */
  sample_rate: number;
}

export interface NewSpeech {
  assistant_id: string;
  /** Up to 1000 characters. */
  text: string;
  /** `wav` by default; `opus` is in Ogg. */
  format?: 'wav' | 'pcm' | 'mp3' | 'opus';
  /** The id of a voice; the assistant's own by default. */
  voice?: string;
  /** 0.5 to 2, 1 by default. */
  speed?: number;
  /** Whether the audio is sent as it is made (default), or whole with its length. */
  stream?: boolean;
}

/** A speech request of a link's visitor, for a session of the visitor's. */
export type NewVisitorSpeech = Omit<NewSpeech, 'assistant_id'> & { session_id: string };

/** The format of the audio, and the options of its transcription. */
export interface TranscriptionSettings {
  /** `pcm_s16le` by default, all mono; with `opus` each `send` is one raw packet. */
  encoding?: 'pcm_s16le' | 'pcm_mulaw' | 'pcm_alaw' | 'opus';
  /** 8000 to 48,000 hertz, 16,000 by default; ignored with `opus`. */
  sample_rate?: number;
  /** A BCP 47 tag that the assistant's provider takes. */
  language?: string;
  /** The silence that ends an utterance: 100 to 2000 milliseconds, 300 by default. */
  silence_ms?: number;
  /** Whether the text is sent while it is spoken; true by default. */
  partials?: boolean;
}

export interface NewTranscription extends TranscriptionSettings {
  assistant_id: string;
  /** The session that the audio belongs to: the socket ends with it. */
  session_id?: string;
}

/** A transcription of a link's visitor. */
export type NewVisitorTranscription = TranscriptionSettings & { session_id: string };

/**
 * The messages that iterating a transcription yields. Times are milliseconds of audio from its beginning; utterances
 * count from 1.
 */
export type TranscriptionMessage =
  | {
      type: 'ready';
      sample_rate: number;
      encoding: NonNullable<TranscriptionSettings['encoding']>;
      silence_ms: number;
      expires_at: number | null;
    }
  | { type: 'speech.started'; utterance: number; at_ms: number }
  | { type: 'speech.stopped'; utterance: number; at_ms: number }
  /** The first `stable` code points of `text` will not change. */
  | { type: 'transcript.partial'; utterance: number; text: string; stable: number; start_ms: number }
  | {
      type: 'transcript.final';
      utterance: number;
      text: string;
      start_ms: number;
      end_ms: number;
      reason: 'silence' | 'flush' | 'finish' | 'length';
    }
  | { type: 'audio.received'; audio_ms: number }
  | { type: 'done'; audio_ms: number };

/** The query of every list. */
export interface PageQuery {
  /** 1 to 100. */
  limit?: number;
  /** The `next_cursor` of the page before. */
  after?: string;
  order?: 'asc' | 'desc';
}

export interface SessionsQuery extends PageQuery {
  assistant_id?: string;
  status?: 'open' | 'ended' | 'expired';
}

export interface VoicesQuery extends PageQuery {
  assistant_id: string;
}

export interface UsageQuery {
  /** Inclusive; 30 days before `end` by default. */
  start?: number;
  /** Exclusive; now by default. */
  end?: number;
  bucket?: 'day' | 'hour';
  assistant_id?: string;
}

/** The events that iterating a turn yields. */
export type TurnEvent =
  | { type: 'turn.started'; turn_id: string; message_id: string }
  | { type: 'message.delta'; text: string }
  | { type: 'tool.started'; call_id: string; name: string; arguments?: Record<string, unknown> | null }
  | {
      type: 'tool.ended';
      call_id: string;
      name: string;
      status: ToolStatus;
      error: ToolError | null;
      output?: string | null;
    }
  | {
      type: 'turn.completed';
      turn_id: string;
      message_id: string;
      stop_reason: 'end' | 'length' | 'tool_calls';
      tool_calls?: PendingToolCall[];
      usage: { input_tokens: number; output_tokens: number; cached_input_tokens: number };
    }
  | { type: 'turn.aborted'; turn_id: string; message_id: string; stop_reason: 'aborted' | 'taken' }
  /** A person answers: no turn begins. */
  | { type: 'message.accepted'; message_id: string };

/** An event of a session: its number is the `cursor` of the iteration. */
export type SessionEvent =
  | { type: 'message.created'; message: Message }
  | { type: 'turn.started'; turn_id: string; message_id: string }
  | { type: 'turn.ended'; turn_id: string; status: 'completed' | 'aborted' | 'failed' }
  | { type: 'attendance.changed'; attendance: Attendance }
  | { type: 'session.ended'; status: 'ended' | 'expired' };
