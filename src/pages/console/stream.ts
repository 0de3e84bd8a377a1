/** The events of a turn as they come, over as many connections as it takes. */
import { createParser } from 'eventsource-parser';
import { pause, realClock } from '../../client/clock.ts';
import { onWake } from '../../client/wake.ts';
import { ApiFailure, query, request } from './api.ts';
import type { ToolCall } from './types.ts';

export type TurnEvent =
  | { readonly type: 'delta'; readonly text: string }
  | { readonly type: 'call'; readonly call: Pick<ToolCall, 'id' | 'name' | 'status'> & Partial<ToolCall> }
  | { readonly type: 'end'; readonly how: 'completed' | 'aborted' | 'failed'; readonly code: string | null };

/**
 * Calls back with the text that the response streams; resolves with the cursor after it and whether the turn has ended.
 */
async function read(
  response: Response,
  cursor: number,
  receive: (event: TurnEvent) => void,
): Promise<{ cursor: number; over: boolean }> {
  let over = false;
  let place = cursor;
  const finish = (how: 'completed' | 'aborted' | 'failed', code: string | null) => {
    over = true;
    receive({ type: 'end', how, code });
  };
  const parser = createParser({
    onEvent({ event, id, data }) {
      place = Number(id) || place;
      if (event === 'message.delta') receive({ type: 'delta', text: JSON.parse(data).text });
      else if (event === 'tool.started' || event === 'tool.ended') {
        const { call_id: id, name, status = 'running', ...rest } = JSON.parse(data);
        receive({ type: 'call', call: { id, name, status, ...rest } });
      } else if (event === 'turn.completed') finish('completed', null);
      else if (event === 'turn.aborted') finish('aborted', null);
      else if (event === 'error') finish('failed', JSON.parse(data).code);
    },
  });
  const bytes = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (let piece = await bytes.read(); !piece.done; piece = await bytes.read()) parser.feed(piece.value);
  return { cursor: place, over };
}

/** Follows a turn from `cursor`, counted in code points, to its end; reconnects if a connection is cut. */
export async function follow(
  turnPath: string,
  cursor: number,
  receive: (event: TurnEvent) => void,
  signal: AbortSignal,
  first?: Response,
): Promise<void> {
  let [place, over, wait, answer] = [cursor, false, 500, first];
  while (!over && !signal.aborted) {
    try {
      answer ??= await request(`${turnPath}/events${query({ after: place || null })}`, { signal });
      ({ cursor: place, over } = await read(answer, place, (event) => {
        wait = 500;
        receive(event);
      }));
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiFailure && error.status !== 0 && error.status !== 503) throw error;
    }
    answer = undefined;
    if (over) return;
    await pause(realClock, wait, signal, onWake).catch(() => {});
    wait = Math.min(wait * 2, 8000);
  }
}
