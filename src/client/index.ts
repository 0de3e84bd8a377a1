/** `parley-client`: the exports of the package. */
export { Parley, type ParleyOptions } from './parley.ts';
export { ConnectionError, ParleyError, RateLimitError, TurnFailedError } from './failure.ts';
export type { CallToken } from './call-messages.ts';
export type { Clock } from './clock.ts';
export type { AwaitablePages, Pages } from './pages.ts';
export type { CallOptions, OnceOptions, Retry } from './requester.ts';
export type { SessionEvents, SessionEventsOptions } from './session-events.ts';
export type { Socket, SocketClass } from './socket.ts';
export type { Speech } from './speech.ts';
export type { TranscribeOptions, Transcription } from './transcription.ts';
export type { Turn, TurnOptions } from './turn.ts';
export type * from './types.ts';
export type { LinkOptions } from './visit.ts';
