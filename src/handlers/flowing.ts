/** Answers that are too long to wait whole for a slow reader: each piece is made when there is room for it. */
import type { Outlet } from '../edge.ts';
import type { Reply } from '../request.ts';
import { jsonHeaders } from './lists.ts';

/**
 * A document of JSON in pieces. What fails before the first piece is answered as any failure; after it the answer is cut off,
 * so that nobody takes the beginning for the whole.
 */
export async function flowing(pieces: AsyncGenerator<string, void>): Promise<Reply> {
  const first = await pieces.next();
  return {
    status: 200,
    headers: jsonHeaders,
    stream: (outlet, onGone) => flow(first, pieces, outlet, onGone),
  };
}

async function flow(
  first: IteratorResult<string, void>,
  pieces: AsyncGenerator<string, void>,
  outlet: Outlet,
  onGone: (callback: () => void) => void,
): Promise<void> {
  let gone = false;
  let wake = (): void => {};
  onGone(() => {
    gone = true;
    wake();
  });
  outlet.onDrain(() => wake());
  for (let piece = first; !gone; piece = await pieces.next()) {
    if (piece.done) return outlet.end();
    if (!outlet.write(piece.value) && !gone) await new Promise<void>((resolve) => (wake = resolve));
  }
  await pieces.return();
}
