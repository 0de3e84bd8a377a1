/** The context, the events and the outcomes of a call (`call.ts`). */

/** Speech that cuts a reply: words, 500 ms of voice, or none. */
export type BargeIn = 'words' | 'voice' | 'off';

/** Reason for ignoring the words of an utterance; null if it has no words. */
export type Ignored = 'backchannel' | 'echo' | 'failed' | null;

/** The cause of a cut; `none` for an end of the session or of the process, and a failure. */
export type CutBy = 'speech' | 'client' | 'api' | 'lost' | 'none';

/**
 * The turn of the call in the store: absent, asked for before the person has finished, about to be readable, or
 * readable.
 */
export type CallTurn = 'none' | 'asked' | 'beginning' | 'begun';

/** All times are in milliseconds since the epoch, or null without a deadline. */
export interface CallContext {
  /** Expiry of the token. */
  readonly tokenUntil: number;
  /** Expiry of the session in Unix seconds. */
  readonly expiresAt: number;
  readonly bargeIn: BargeIn;
  readonly turn: CallTurn;
  /** Early requests to the model in the person's present turn. */
  readonly asked: number;
  /** Whether words that the person said while the session was busy wait for a turn. */
  readonly owed: boolean;
  /** Deadline for the beginning of a turn, or for the end of a chat's turn. */
  readonly until: number | null;
  /** Deadline for a reply while the process ends. */
  readonly drainUntil: number | null;
  /** Deadline for the model's next sentence. */
  readonly replyUntil: number | null;
  /** Deadline for the client's next report of what it has played. */
  readonly playUntil: number | null;
  /** Whether the client reports what it plays. */
  readonly reports: boolean;
  /** Deadline for a word that counts, in speech over the reply. */
  readonly decideUntil: number | null;
  /** The code that the reply failed with; what was sent of it is still played. */
  readonly failing: string | null;
  readonly echoes: number;
  /** Utterances in a row that could not be transcribed, and replies in a row that could not be spoken. */
  readonly unheard: number;
  readonly unspoken: number;
  /** Error code or reason of the close; null while the call is open, and after a lost connection. */
  readonly reason: string | null;
}

/**
 * An utterance of the person: the times of its first and its last voice. It decides nothing in the machine; the console
 * draws it.
 */
export interface Utterance {
  readonly from: number;
  readonly to: number;
}

/** The utterance under way, or the last one. */
interface Voiced {
  readonly utterance?: Utterance | undefined;
}

/** Every event has the time at which it happens, in milliseconds since the epoch. */
export type CallEvent =
  /**
   * The token's holder opens the call. `refusal`: why the assistant or the session does not take it, or null. `greets`:
   * the greeting is spoken first.
   */
  | { type: 'open'; at: number; refusal: string | null; greets: boolean; bargeIn: BargeIn }
  /** A setting that the client sends before its first audio. */
  | { type: 'configure'; at: number; bargeIn: BargeIn }
  /** The person's voice begins, or continues after an early text. */
  | ({ type: 'voice'; at: number } & Voiced)
  /** 200 ms of an utterance over the reply are voice. */
  | ({ type: 'voiced'; at: number } & Voiced)
  /** An utterance over the reply has a word that counts. */
  | ({ type: 'words'; at: number } & Voiced)
  /** The person pauses, and has said words. */
  | ({ type: 'early'; at: number } & Voiced)
  /** The person's turn has ended with words. `kept`: they are those that the model was asked with early. */
  | ({ type: 'said'; at: number; kept: boolean } & Voiced)
  /** An utterance has ended, and no word of it counts. */
  | ({ type: 'unsaid'; at: number; ignored: Ignored } & Voiced)
  /** The client sends a text to be answered aloud. */
  | { type: 'typed'; at: number }
  /** The client cuts what is spoken. */
  | { type: 'interrupt'; at: number }
  /** The turn is to be aborted, on a request of the API. */
  | { type: 'abort'; at: number }
  /** The turn is stored, and readers know of it. */
  | { type: 'begun'; at: number }
  /** The workspace has no slot for the turn. */
  | { type: 'full'; at: number }
  /** The turn cannot begin. */
  | { type: 'refused'; at: number; code: string }
  /** The words are stored for a person of the desk (contract 23): no turn answers them. */
  | { type: 'accepted'; at: number }
  /**
   * The session answers a chat. `owed`: words have no turn because of it. `typed`: a message of the client is refused
   * because of it.
   */
  | { type: 'elsewhere'; at: number; owed: boolean; typed: boolean }
  | { type: 'elsewhere.over'; at: number }
  /** The first audio of the reply is at hand. */
  | { type: 'audio'; at: number }
  /** The model has made a sentence. `last`: it makes no more. */
  | { type: 'sentence'; at: number; last: boolean }
  /** The model or the synthesis of the reply failed. */
  | { type: 'failed'; at: number; code: string }
  /** The client reports what it has played. */
  | { type: 'report'; at: number }
  /** `due`: audio that the client has not played is on its way. */
  | { type: 'due'; at: number; due: boolean }
  /** The reply was played to its end. */
  | { type: 'played'; at: number }
  | { type: 'session.ended'; at: number }
  /** A newer call has the session. */
  | { type: 'replaced'; at: number; by?: 'person' }
  | { type: 'hangup'; at: number }
  /** The connection is lost. */
  | { type: 'leave'; at: number }
  /** The client broke a rule, or the server failed it: `code` is the error that is sent, `close` the close code. */
  | { type: 'fault'; at: number; code: string; close: number }
  | { type: 'drain'; at: number }
  /** A deadline may be due. */
  | { type: 'tick'; at: number };

export type CallOutcome =
  | { type: 'refused'; code: string }
  | { type: 'unchanged' }
  | { type: 'call.opened' }
  | { type: 'utterance.begun' }
  | { type: 'utterance.ended' }
  | { type: 'call.busy' }
  | { type: 'call.free' }
  | { type: 'call.draining' }
  /** Begin no audio until the person's words decide. */
  | { type: 'reply.held' }
  | { type: 'reply.resumed' }
  /** Make no more of the reply; the audio that was sent is still played. */
  | { type: 'reply.stop' }
  | { type: 'greeting.begin' }
  /** Ask the model before the person's turn has ended; the reply is neither readable nor audible. */
  | { type: 'turn.prepare' }
  /** Let readers know of the turn that was asked for early. */
  | { type: 'turn.announce' }
  /** Begin a turn with the words at hand. */
  | { type: 'turn.begin' }
  /** The client gets to know the turn. */
  | { type: 'turn.started' }
  /** Remove all traces of the turn; its words begin the person's next message. */
  | { type: 'turn.withdraw' }
  /** Seal the turn at its listener's position. */
  | { type: 'turn.cut'; reason: CutBy }
  /** Seal the turn: all was heard. */
  | { type: 'turn.finish' }
  /** Seal the turn as failed with what was heard. */
  | { type: 'turn.fail' }
  /** The client gets to know that a person answers its words. */
  | { type: 'message.accepted' }
  /** Reports to the client that its words have no reply. */
  | { type: 'turn.failed'; code: string }
  | { type: 'audio.begin' }
  | { type: 'audio.pause' }
  | { type: 'audio.resume' }
  | { type: 'audio.clear' }
  /** `code`: error to send before the close; null without an error. */
  | { type: 'call.closed'; code: string | null; close: number };

export interface MintedCall {
  readonly tokenUntil: number;
  readonly expiresAt: number;
}

/** The context of a token that was just minted. */
export const mintedCall = ({ tokenUntil, expiresAt }: MintedCall): CallContext => ({
  tokenUntil,
  expiresAt,
  bargeIn: 'words',
  turn: 'none',
  asked: 0,
  owed: false,
  until: null,
  drainUntil: null,
  replyUntil: null,
  playUntil: null,
  reports: false,
  decideUntil: null,
  failing: null,
  echoes: 0,
  unheard: 0,
  unspoken: 0,
  reason: null,
});
