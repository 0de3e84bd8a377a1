/** parley's edge with nothing behind it. */
import { built } from '../harness/built.ts';
import { message, post, type Contender } from '../harness/contender.ts';
import { parleyFormat } from '../load/stream.ts';
import { startProgram } from './simple.ts';

export const edge: Contender = {
  name: 'edge',
  note: "parley's own edge, which answers every request with one fixed text.",
  standing: 'always',
  async start(surroundings) {
    const instance = await startProgram(
      await built(new URL('../edge.ts', import.meta.url)),
      surroundings,
      parleyFormat,
    );
    return {
      ...instance,
      conversations: async () => [post('/sessions/ses_none/chat', { message }, { authorization: 'Bearer ak_none' })],
    };
  },
};
