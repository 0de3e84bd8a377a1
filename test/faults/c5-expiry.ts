/** C5: a call ends within 250 ms of its session's last second, in whatever state it is. */
import { clipOf, type Caller } from '../api/caller.ts';
import type { House } from '../api/house.ts';
import { transcriptOf } from '../api/talk.ts';
import type { Experiment, Trial } from './experiment.ts';
import { lackingRedis } from './ground.ts';
import { Loudspeaker } from './loudspeaker.ts';
import { asking } from './script.ts';
import { Stage } from './stage.ts';

const endMs = 250;
/** Time enough to get into a state, also on a busy machine. */
const [leastSeconds, mostSeconds] = [6, 9];

const states = ['listening', 'hearing', 'thinking', 'held', 'speaking', 'paused', 'busy'] as const;
type State = (typeof states)[number];

export const endsInTime: Experiment = {
  promise: 'C5',
  name: 'expiry',
  does: `max_call_seconds in ${states.join(', ')}`,
  stores: ['lmdb', 'redis'],
  abreast: { lmdb: 2, redis: 2 },
  lacking: lackingRedis,
  async open(t, store) {
    const stage = await Stage.open(t, store);
    // A model that is asked to wait has no answer.
    stage.isFrozen = (asked) => asked.includes('wait');
    const house = await stage.ground.server({ PARLEY_SYNTHETIC: '1' });
    await clipOf(house);
    return async (trial) => {
      const ended = await Promise.allSettled(states.map((state) => expire(trial, stage, house, state)));
      for (const one of ended) if (one.status === 'rejected') throw one.reason;
    };
  },
};

async function expire(trial: Trial, stage: Stage, house: House, state: State): Promise<void> {
  const assistant = await stage.assistant(house, 'hello_there', { max_call_seconds: trial.random.between(leastSeconds, mostSeconds) });
  const caller = await stage.call(house, assistant);
  new Loudspeaker(caller);
  const { expires_at: expiresAt } = caller.heard[0]!;
  const voice = sound(caller, await clipOf(house));
  const over = caller.closed.then((code) => ({ code, at: Date.now() }));
  await Promise.race([reach(caller, house, state, voice), over]);
  const { code, at } = await over;
  voice.stop();
  const lateMs = at - expiresAt * 1000;
  const told = `${caller.session.id}, to be ${state}, ${caller.states().at(-1)}`;
  trial.must(code === 1008 && caller.heard.at(-1)!['code'] === 'session_expired', `${told}: closed with ${code} ${JSON.stringify(caller.heard.at(-1))}`);
  trial.must(lateMs >= 0, `${told}: it ended ${-lateMs} ms too early`);
  trial.took('from the last second to the close', lateMs, endMs);
  trial.count(caller.states().at(-1) === state ? 'ended in the state' : 'ended in another state');
  const messages = await transcriptOf(house, caller.session.id);
  const roles = messages.map(({ role }) => role).join(' ');
  trial.must(/^(?:user assistant)?$/.test(roles), `${told}: the transcript holds ${roles}`);
}

/** The microphone, which sends silence or a voice without end. */
function sound(caller: Caller, clip: Buffer): { speaks: boolean; stop(): void } {
  let at = 0;
  const self = { speaks: false, stop: () => clearInterval(timer) };
  const timer = setInterval(() => {
    if (caller.socket.readyState !== 1) return self.stop();
    // The middle of the clip has no pause in it.
    const from = 16_000 + (at % 24_000);
    caller.send(self.speaks ? clip.subarray(from, from + 640) : Buffer.alloc(640));
    at += 640;
  }, 20);
  return self;
}

/** Brings a call into a state and leaves it there. */
async function reach(caller: Caller, house: House, state: State, voice: { speaks: boolean }): Promise<void> {
  const { id } = caller.session;
  switch (state) {
    case 'listening':
      return;
    case 'hearing':
      voice.speaks = true;
      return;
    case 'thinking':
    case 'held':
      caller.send({ type: 'message', text: 'wait' });
      await caller.until('turn.started');
      voice.speaks = state === 'held';
      return;
    case 'speaking':
    case 'paused':
      caller.send({ type: 'message', text: asking(1, 12) });
      await caller.until('audio.start');
      voice.speaks = state === 'paused';
      return;
    case 'busy':
      void house.stream(`/sessions/${id}/chat`, { body: { message: 'wait' } }).catch(() => {});
  }
}
