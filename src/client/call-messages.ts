/** The messages of a call on the wire, and its settings (contract 18). */
import type { ErrorCode } from './types.ts';

/** The states of a call as the service names them. */
export type WireState = 'listening' | 'hearing' | 'thinking' | 'held' | 'speaking' | 'paused' | 'busy';

/** A token for one call; an answer of `POST /call-tokens`. */
export interface CallToken {
  object: 'call_token';
  token: string;
  /** The address to open, with the token in it. */
  url: string;
  /** Unix seconds. */
  expires_at: number;
}

export interface CallSettings {
  /** The format of the person's audio: `pcm_s16le` by default, all mono. */
  encoding?: 'pcm_s16le' | 'pcm_mulaw' | 'pcm_alaw' | 'opus';
  /** Hertz of the person's audio: 8000 to 48,000, 16,000 by default. */
  sample_rate?: number;
  /** A BCP 47 tag that the assistant's provider takes. */
  language?: string;
  /** Whether the text is sent while it is spoken; true by default. */
  partials?: boolean;
  /** The format of the reply: `pcm_s16le` by default. */
  output_encoding?: 'pcm_s16le' | 'pcm_mulaw' | 'pcm_alaw';
  /** Hertz of the reply: 8000 to 48,000; 16,000 by default, 8000 for the telephone's encodings. */
  output_sample_rate?: number;
  /** Milliseconds of audio sent beyond what was played: 200 to 5000, 1000 by default. */
  ahead_ms?: number;
  /** Whether the assistant's greeting is spoken if the session has no turn yet; true by default. */
  greeting?: boolean;
  /** The silence that ends a turn: 200 to 3000 milliseconds, 500 by default. */
  turn_silence_ms?: number;
  /**
   * The speech that cuts a reply: words (default), any voice, or none: for a loudspeaker that the microphone hears,
   * with no echo canceller between them.
   */
  barge_in?: 'words' | 'voice' | 'off';
}

export type CutBy = 'speech' | 'client' | 'api' | 'lost' | null;

/**
 * The messages of the service. Times are milliseconds of the person's audio, samples are counted at the output rate.
 */
export type CallMessage =
  | {
      type: 'ready';
      call_id: string;
      session_id: string;
      sample_rate: number;
      encoding: string;
      output_sample_rate: number;
      output_encoding: string;
      turn_silence_ms: number;
      ahead_ms: number;
      barge_in: 'words' | 'voice' | 'off';
      expires_at: number | null;
    }
  | { type: 'speech.started'; utterance: number; at_ms: number }
  | { type: 'speech.stopped'; utterance: number; at_ms: number }
  | { type: 'transcript.partial'; utterance: number; text: string; stable: number; start_ms: number }
  | {
      type: 'transcript.final';
      utterance: number;
      text: string;
      start_ms: number;
      end_ms: number;
      reason: string;
      ignored: 'backchannel' | 'echo' | 'failed' | null;
    }
  | { type: 'audio.received'; audio_ms: number }
  /** `text` is the person's message; `spoken` is false for a chat of somebody else on the session. */
  | { type: 'turn.started'; turn_id: string; message_id: string; text: string; spoken: boolean }
  /** The words wait for a person of the desk: no turn answers them, and nothing is spoken. */
  | { type: 'message.accepted'; message_id: string; text: string }
  /** `turn_id` is null for the greeting. */
  | { type: 'audio.start'; message_id: string; turn_id: string | null }
  | { type: 'audio.end'; message_id: string; samples: number }
  | { type: 'audio.pause' | 'audio.resume' | 'audio.clear'; message_id: string }
  /** The reply's text, as it is heard. */
  | { type: 'message.delta'; message_id: string; text: string }
  | {
      type: 'turn.completed';
      turn_id: string;
      message_id: string;
      stop_reason: 'end';
      usage: { input_tokens: number; output_tokens: number; cached_input_tokens: number };
    }
  | { type: 'turn.aborted'; turn_id: string; message_id: string; stop_reason: 'aborted'; cut_by: CutBy }
  /** The turn never was: nothing of it was heard. */
  | { type: 'turn.withdrawn'; turn_id: string }
  /** `turn_id` is null where none was begun. */
  | { type: 'turn.failed'; turn_id: string | null; code: ErrorCode; message: string }
  | { type: 'ended'; reason: 'hangup' | 'replaced' | 'person' };

/** The messages that the call itself takes in; the state comes as an event of the call. */
export type WireMessage =
  | CallMessage
  | { type: 'state'; state: WireState }
  | { type: 'error'; code: ErrorCode; message: string };
