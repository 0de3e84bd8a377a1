/**
 * The sides of a call's socket that its own messages and OpenAI's events have alike: the person's audio, and a reader
 * that is behind (contract 8 and 18).
 */
import type { Socket } from '../../base/edge.ts';
import { limits } from '../../base/limits.ts';
import { AudioIntake, type IntakeOptions } from '../audio-intake.ts';
import { keyOf } from '../access-checks.ts';
import { closingBytes, ours, refused } from '../socket-messages.ts';
import type { Call, CallOptions } from './call.ts';

/** The intake of a call's audio; `call` is made after it. */
export const callIntake = (
  { services, assistant, principal }: Pick<CallOptions, 'services' | 'assistant' | 'principal'>,
  call: () => Call,
  heard: Pick<IntakeOptions, 'received' | 'message'>,
): AudioIntake =>
  new AudioIntake({
    ...{ services, assistant: assistant.record, keyId: keyOf(principal), isCounted: principal.channel !== 'console' },
    ...heard,
    take: (samples) => call().hearing.listen(samples),
    refused: (code) => call().fault(code, refused),
    failed: () => call().fault('voice_unavailable', ours),
  });

/** Takes a client's message; a fault of ours on the way ends the call. */
export function taking(
  call: Call,
  { services, requestId }: Pick<CallOptions, 'services' | 'requestId'>,
  take: () => void,
): void {
  try {
    take();
  } catch (error) {
    services.log.warn({ request_id: requestId, err: error }, 'audio of a call could not be taken');
    call.fault('voice_unavailable', ours);
  }
}

/** A reader that is behind gets audio later: what waits for it stays small. */
export const isFree = (socket: Socket | null): boolean => (socket?.bufferedBytes ?? 0) < limits.socketPartialBytesMax;

/** Sends a text, or refuses a reader that is too far behind. */
export function sendText(socket: Socket, text: string, call: Call): void {
  // The closing error must still fit.
  if (socket.bufferedBytes + text.length > limits.socketWaitingBytesMax - closingBytes)
    return call.fault('rate_limited', refused);
  socket.send(text);
}
