/**
 * Long answers, made piece by piece: each piece is made when the client can take it, so that a slow reader does not
 * keep the whole answer in memory.
 */
import type { Outlet, ResponseHeaders } from '../../base/edge.ts';
import type { Reply } from '../request.ts';
import { jsonHeaders } from './lists.ts';

/**
 * A document in pieces, of JSON unless the headers say otherwise. A failure before the first piece is answered as any
 * failure; after it the answer is cut, so that a client cannot take the beginning for the whole.
 */
export async function replyFlowing(
  pieces: AsyncGenerator<string, void>,
  headers: ResponseHeaders = jsonHeaders,
): Promise<Reply> {
  const first = await pieces.next();
  return {
    status: 200,
    headers,
    stream: (outlet, onGone) => pour(pieces, outlet, onGone, first),
  };
}

/**
 * Writes pieces as the client takes them, then ends the answer. A client that leaves ends the generator. `first` is a
 * piece that was taken from it already.
 */
export async function pour<Piece extends string | Uint8Array>(
  pieces: AsyncGenerator<Piece, void>,
  outlet: Outlet,
  onGone: (callback: () => void) => void,
  first?: IteratorResult<Piece, void>,
): Promise<void> {
  let gone = false;
  let wake = (): void => {};
  onGone(() => {
    gone = true;
    wake();
  });
  outlet.onDrain(() => wake());
  for (let piece = first ?? (await pieces.next()); !gone; piece = await pieces.next()) {
    if (piece.done) return outlet.end();
    if (!outlet.write(piece.value) && !gone) await new Promise<void>((resolve) => (wake = resolve));
  }
  await pieces.return();
}
