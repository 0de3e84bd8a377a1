/** Faults of a provider by the hundred: for each, a client hears the one sentence, and an event stream stays one. */
import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import { conformity } from '../api/conformity.ts';
import type { Answer } from '../api/house.ts';
import { faults, type Fault } from './faults.ts';
import { given, type Scene } from './scene.ts';

export interface Runs {
  readonly seed: number;
  readonly times: number;
  /** Called after each run. */
  readonly onRun?: () => void;
}

const unavailable = { code: 'assistant_unavailable', message: 'The assistant cannot answer at the moment.' };

/** Throws with the seed and the smallest fault that was answered wrongly. */
export async function throwFaults(scene: Scene, { seed, times, onRun }: Runs): Promise<void> {
  const events = await conformity(scene.house);
  const sessions = new Map<string, string>();
  const run = async ({ dialect, script }: Fault): Promise<void> => {
    scene.provider.script = script;
    const session =
      sessions.get(dialect) ??
      (await scene.ask('sessions', '/sessions', { body: { assistant_id: scene.assistants[dialect] } })).json.id;
    sessions.set(dialect, session);
    const answer = await scene.ask('streams', `/sessions/${session}/chat`, { body: { message: 'Hello' } });
    check(answer, events.checkEvent);
    onRun?.();
  };
  await fc.assert(fc.asyncProperty(faults(given, given.reply), run), { seed, numRuns: times });
}

/** Throws unless the answer is one that a provider's failure or reply may lead to. */
function check({ status, text, json }: Answer, checkEvent: (event: { event: string; data: unknown }) => void): void {
  if ([given.provider, given.opaque].some((words) => text.includes(words.slice(0, 16))))
    throw new Error(`the provider's words: ${text}`);
  if (status === 503) {
    if (json.error.code !== unavailable.code || json.error.message !== unavailable.message)
      throw new Error(`another refusal: ${text}`);
    return;
  }
  if (status !== 200) throw new Error(`status ${status}: ${text}`);
  const events: { event: string; data: any }[] = [];
  const parser = createParser({ onEvent: ({ event = '', data }) => events.push({ event, data: JSON.parse(data) }) });
  parser.feed(text);
  for (const event of events) checkEvent(event);
  const names = events.map(({ event }) => event.replace('message.', '')).join(' ');
  if (!/^turn\.started( delta| tool\.\w+)*( turn\.completed| error)$/.test(names))
    throw new Error(`not one turn: ${names}`);
  const last = events.at(-1)!;
  if (last.event === 'error' && (last.data.code !== unavailable.code || last.data.message !== unavailable.message))
    throw new Error(`another error: ${text}`);
}
