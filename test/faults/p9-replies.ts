/** P9: steps whose replies are lost on the way from Redis are sent again, and apply once. */
import { limits } from '../../src/base/limits.ts';
import { sessionOf, transcriptOf } from '../api/talk.ts';
import type { House } from '../api/house.ts';
import type { Experiment, Trial } from './experiment.ts';
import { Ground, lackingRedis, until } from './ground.ts';
import { Listener, talk } from './listener.ts';
import { begins, wordsOf } from './words.ts';
import type { Way } from './way.ts';

/** About as many replies as one request has. */
const repliesMax = 8;

export const appliesOnce: Experiment = {
  promise: 'P9',
  name: 'replies',
  does: 'the reply of a step cut after its execution, again and again',
  stores: ['redis'],
  abreast: { lmdb: 1, redis: 2 },
  lacking: lackingRedis,
  async open(t, store) {
    const ground = await Ground.open(t, store);
    const { way, house } = await ground.member();
    const credentialId = (await house.console(`/workspaces/${house.workspaceId}/assistants/${ground.assistantId}`)).json
      .model.credential_id;
    return async (trial) => {
      await chargedOnce(trial, house, way);
      await oneLife(trial, house, credentialId, way).catch((error) => {
        if (!(error instanceof Late)) throw error;
        trial.count('lives cut short by a busy machine');
      });
    };
  },
};

/**
 * A request is charged once, whichever of its replies is lost. The rest of the budget is a lower bound, because it is
 * refilled meanwhile.
 */
async function chargedOnce(trial: Trial, house: House, way: Way): Promise<void> {
  const ceiling = 60;
  const { key } = await house.newKey({ limits: { requests: ceiling } });
  for (let count = 1; count <= 5; count++) {
    way.loseReply(trial.random.between(1, 2));
    const askedAt = performance.now();
    const { status, headers } = await house.ask('/assistants', { key });
    const ms = performance.now() - askedAt;
    trial.count(way.lost ? 'replies lost' : 'requests with fewer replies');
    way.mend();
    // A machine that is too busy to connect again in time answers 503: that is late, and may have been charged.
    trial.took('a request whose reply was lost', ms, limits.redisCallMs);
    if (status === 503 && ms >= limits.redisCallMs) continue;
    const left = Number(headers.get('x-ratelimit-remaining'));
    trial.must(
      status === 200 && left >= ceiling - count,
      `after ${count} requests ${left} of ${ceiling} are left, and the last is answered ${status}`,
    );
  }
}

/** A request was answered 503 after as long as a step may take: the machine is too busy. */
class Late extends Error {}

/** The life of a session, with a separate assistant whose usage counts the steps applied. */
async function oneLife(trial: Trial, house: House, credentialId: string, way: Way): Promise<void> {
  const { id: assistantId } = await house.assistant({
    model: { provider: 'openai', name: 'speaker', credential_id: credentialId },
  });
  const losing = async <T extends { readonly status: number }>(run: () => Promise<T>): Promise<T> => {
    way.loseReply(trial.random.between(1, repliesMax));
    const askedAt = performance.now();
    const answer = await run();
    trial.count(way.lost ? 'replies lost' : 'requests with fewer replies');
    way.mend();
    // The answer was late, as above.
    if (answer.status === 503 && performance.now() - askedAt >= limits.redisCallMs) throw new Late();
    return answer;
  };
  const made = await losing(() => house.ask('/sessions', { body: { assistant_id: assistantId } }));
  trial.must(made.status === 201, `a session: ${made.status} ${made.text}`);
  const { id } = made.json;
  const spoken: string[] = [];
  for (const fate of ['completed', 'aborted'] as const) {
    const tag = `s${trial.seed}${fate}`;
    // With few words the lost reply is as often the one of the turn's end.
    const words = fate === 'completed' ? trial.random.pick([1, 1, 2, 40]) : 1_000_000;
    const listener = await losing(() =>
      fate === 'completed'
        ? whole(talk(house, id, { tag, words, delayMs: 1 }))
        : begun(talk(house, id, { tag, words, delayMs: 1 })),
    );
    if (fate === 'aborted') {
      const aborted = await losing(() =>
        house.ask(`/sessions/${id}/turns/${listener.turnId}/abort`, { method: 'POST' }),
      );
      trial.must(aborted.json?.status === 'aborted', `the abort: ${aborted.status} ${aborted.text}`);
      await listener.over;
    }
    trial.must(listener.ending === `turn.${fate}`, `${tag}: ${listener.status} ${listener.ending} ${listener.code}`);
    trial.must(
      fate === 'aborted' ? begins(tag, listener.seen) : listener.seen === wordsOf(tag, words),
      `${tag} was heard as ${JSON.stringify(listener.seen)}`,
    );
    spoken.push(listener.seen);
  }
  const ended = await losing(() => house.ask(`/sessions/${id}/end`, { method: 'POST' }));
  trial.must(ended.json?.status === 'ended', `the end: ${ended.status} ${ended.text}`);
  await checkOnce(trial, house, assistantId, id, spoken);
}

const whole = async (listener: Listener): Promise<Listener> => (await listener.over, listener);
const begun = async (listener: Listener): Promise<Listener> => (await listener.heard(), listener);

async function checkOnce(
  trial: Trial,
  house: House,
  assistantId: string,
  id: string,
  spoken: readonly string[],
): Promise<void> {
  const replies = (await transcriptOf(house, id)).map(({ role, content, status }) =>
    role === 'user' ? role : `${status} ${content}`,
  );
  const due = ['user', `completed ${spoken[0]}`, 'user', `partial ${spoken[1]}`];
  trial.must(
    JSON.stringify(replies) === JSON.stringify(due),
    `the transcript is ${JSON.stringify(replies)}, and ${JSON.stringify(due)} was heard`,
  );
  const { totals } = (await house.ask(`/usage?assistant_id=${assistantId}`)).json;
  trial.must(
    totals.sessions === 1 && totals.turns === 2,
    `usage counts ${totals.sessions} sessions and ${totals.turns} turns, of 1 and 2`,
  );
  const { json } = await house.ask(`/sessions?assistant_id=${assistantId}`);
  trial.must(json.data.length === 1, `${json.data.length} sessions are listed`);
  await until(async () => (await sessionOf(house, id)).active_turn_id === null);
}
