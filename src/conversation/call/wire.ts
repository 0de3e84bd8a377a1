/**
 * Parts that the sockets of a call's own messages and of OpenAI's events share: the intake of audio, and the bound on
 * messages that the client has not read (contract 8 and 18).
 */
import type { Socket } from '../../base/edge.ts';
import { limits } from '../../base/limits.ts';
import { AudioIntake, type IntakeOptions } from '../audio-intake.ts';
import { keyOf } from '../access-checks.ts';
import { closingBytes, ours, refused } from '../socket-messages.ts';
import type { Call, CallOptions } from './call.ts';

/** Makes the intake of a call's audio, before the call. */
export const callIntake = (
  { services, assistant, principal }: Pick<CallOptions, 'services' | 'assistant' | 'principal'>,
  call: () => Call,
  heard: Pick<IntakeOptions, 'received' | 'message'>,
): AudioIntake =>
  new AudioIntake({
    ...{ services, assistant: assistant.record, keyId: keyOf(principal), isCounted: principal.channel !== 'console' },
    ...heard,
    take: (samples) => call().speech.listen(samples),
    refused: (code) => call().fault(code, refused),
    failed: () => call().fault('voice_unavailable', ours),
  });

/** Takes a client's message; an exception ends the call. */
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

/** Whether the client has read enough for more audio: the memory of a slow reader stays small. */
export const isFree = (socket: Socket | null): boolean => (socket?.bufferedBytes ?? 0) < limits.socketPartialBytesMax;

/** Sends a text, or ends the call of a client that reads too slowly. */
export function sendText(socket: Socket, text: string, call: Call): void {
  // The closing error must still fit.
  if (socket.bufferedBytes + text.length > limits.socketWaitingBytesMax - closingBytes)
    return call.fault('rate_limited', refused);
  socket.send(text);
}
