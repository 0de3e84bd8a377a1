/** C5: a call ends within 250 ms of its session's last second, in any state. */
import { clipOf } from '../api/caller.ts';
import type { House } from '../api/house.ts';
import { transcriptOf } from '../api/talk.ts';
import type { Experiment, Trial } from './experiment.ts';
import { lackingRedis } from './ground.ts';
import { Loudspeaker } from './loudspeaker.ts';
import { reach, states, type State } from './states.ts';
import { Stage } from './stage.ts';
import { Microphone } from './microphone.ts';

const endMs = 250;
/** Time enough to get into a state, also on a busy machine. */
const [leastSeconds, mostSeconds] = [6, 9];

export const endsInTime: Experiment = {
  promise: 'C5',
  name: 'expiry',
  does: `max_call_seconds in ${states.join(', ')}`,
  stores: ['lmdb', 'redis'],
  abreast: { lmdb: 2, redis: 2 },
  lacking: lackingRedis,
  async open(t, store) {
    const stage = await Stage.open(t, store);
    const house = await stage.ground.server({ PARLEY_SYNTHETIC: '1' });
    await clipOf(house);
    return async (trial) => {
      const ended = await Promise.allSettled(states.map((state) => expire(trial, stage, house, state)));
      for (const one of ended) if (one.status === 'rejected') throw one.reason;
    };
  },
};

async function expire(trial: Trial, stage: Stage, house: House, state: State): Promise<void> {
  const assistant = await stage.assistant(house, 'texts=hello_there', {
    max_call_seconds: trial.random.between(leastSeconds, mostSeconds),
  });
  const caller = await stage.call(house, assistant);
  new Loudspeaker(caller);
  const { expires_at: expiresAt } = caller.heard[0]!;
  const microphone = new Microphone(caller, await clipOf(house));
  const over = caller.closed.then((code) => ({ code, at: Date.now() }));
  await Promise.race([reach(state, { caller, house, microphone }), over]);
  const { code, at } = await over;
  const lateMs = at - expiresAt * 1000;
  const told = `${caller.session.id}, to be ${state}, ${caller.states().at(-1)}`;
  trial.must(
    code === 1008 && caller.heard.at(-1)!['code'] === 'session_expired',
    `${told}: closed with ${code} ${JSON.stringify(caller.heard.at(-1))}`,
  );
  trial.must(lateMs >= 0, `${told}: it ended ${-lateMs} ms too early`);
  trial.took('from the last second to the close', lateMs, endMs);
  trial.count(caller.states().at(-1) === state ? 'ended in the state' : 'ended in another state');
  const messages = await transcriptOf(house, caller.session.id);
  const roles = messages.map(({ role }) => role).join(' ');
  trial.must(/^(?:user assistant)?$/.test(roles), `${told}: the transcript holds ${roles}`);
}
