/** Audio that does not match its declared format: bytes that the encoding or container cannot hold. */
export class UnreadableAudio extends Error {
  override readonly name = 'UnreadableAudio';
}
