/** Audio that is not what it is said to be: bytes that the named encoding or container cannot hold. */
export class UnreadableAudio extends Error {
  override readonly name = 'UnreadableAudio';
}
