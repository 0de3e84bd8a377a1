/**
 * C1: a call is cut at a random position of a reply whose word times are known, in every way in which it can be cut:
 * the transcript has what was heard.
 */
import type { Caller } from '../api/caller.ts';
import { clipOf } from '../api/caller.ts';
import type { House } from '../api/house.ts';
import { transcriptOf } from '../api/talk.ts';
import type { Experiment, Trial } from './experiment.ts';
import { lackingRedis, until } from './ground.ts';
import { asking, Script } from './script.ts';
import { playTo, sealedReply, Stage, within } from './stage.ts';

/** The ways in which a reply is cut: by its listener, by a request, or by the end of the call. */
const cutters = ['speech', 'interrupt', 'message', 'abort', 'hangup', 'reset', 'end', 'expiry'] as const;
type Cutter = (typeof cutters)[number];

/** Milliseconds after which a call has ended by itself. */
const expirySeconds = 8;
const aheadMs = 1_000;
const samplesPerMs = 16;
/** Samples of one frame of 20 ms. */
const frameSamples = 320;
/** The words over a reply, as the synthetic voice hears them. */
const said = 'texts=well_say_1_1';

export const heardIsStored: Experiment = {
  promise: 'C1',
  name: 'cuts',
  does: `a reply cut at a random sample by ${cutters.join(', ')}`,
  stores: ['lmdb', 'redis'],
  abreast: { lmdb: 2, redis: 2 },
  lacking: lackingRedis,
  async open(t, store) {
    const stage = await Stage.open(t, store);
    const house = await stage.ground.server({ PARLEY_SYNTHETIC: '1' });
    // The detector is loaded when it is first needed.
    await clipOf(house);
    return async (trial) => {
      const cuts = await Promise.allSettled(
        cutters.map((cutter, index) => new Cut(trial, stage, house, cutter, trial.seed * cutters.length + index).run()),
      );
      for (const cut of cuts) if (cut.status === 'rejected') throw cut.reason;
    };
  },
};

/** The state of a reply when it is cut: samples that its listener has heard, and when they said so. */
interface At {
  readonly played: number;
  readonly saidAt: number;
}

class Cut {
  readonly #trial: Trial;
  readonly #stage: Stage;
  readonly #house: House;
  readonly #cutter: Cutter;
  readonly #seed: number;
  readonly #script: Script;
  readonly #sentences: number;
  readonly #samples: number;
  #seen: Promise<string> = Promise.resolve('');

  constructor(trial: Trial, stage: Stage, house: House, cutter: Cutter, seed: number) {
    const { random } = trial;
    this.#trial = trial;
    this.#stage = stage;
    this.#house = house;
    this.#cutter = cutter;
    this.#seed = seed;
    this.#sentences = random.between(4, 6);
    this.#script = new Script(seed, this.#sentences);
    // Now and then at the very beginning. The last sample is no cut any more.
    const most = cutter === 'expiry' ? aheadMs * samplesPerMs : this.#script.samples - 4 * frameSamples;
    this.#samples = random.chance(0.15) ? random.between(0, 4_000) : random.between(0, most);
  }

  async run(): Promise<void> {
    const { turnId, messageId, caller } = await this.#begin();
    const saidAt = performance.now();
    const played = await playTo(caller, messageId, this.#samples);
    const at = { played, saidAt };
    await this.#cut(caller, turnId, messageId, played);
    const heard = caller.textOf(messageId);
    if (['speech', 'interrupt', 'message'].includes(this.#cutter) && this.#script.heardAt(played) === '')
      await this.#withdrawn(caller, turnId);
    else await this.#sealed(caller, messageId, heard, at);
    caller.socket.terminate();
    await caller.closed;
    this.#trial.count('cuts');
  }

  get #whose(): string {
    return `${this.#cutter} of ${this.#seed} at ${this.#samples}`;
  }

  async #begin(): Promise<{ caller: Caller; turnId: string; messageId: string }> {
    const fields = this.#cutter === 'expiry' ? { max_call_seconds: expirySeconds } : {};
    const caller = await this.#stage.call(this.#house, await this.#stage.assistant(this.#house, said, fields));
    caller.send({ type: 'message', text: asking(this.#seed, this.#sentences) });
    const { turn_id: turnId, message_id: messageId } = await caller.until('turn.started');
    this.#seen = this.#read(caller.session.id, turnId);
    await caller.until('audio.start');
    caller.send({ type: 'played', message_id: messageId, samples: 0 });
    return { caller, turnId, messageId };
  }

  /** The text that a reader of the turn's events has seen by its end. */
  async #read(sessionId: string, turnId: string): Promise<string> {
    try {
      const stream = await this.#house.stream(`/sessions/${sessionId}/turns/${turnId}/events`);
      return (await stream.rest())
        .flatMap(({ event, data }) => (event === 'message.delta' ? [data.text as string] : []))
        .join('');
    } catch {
      // The stream of a turn that is withdrawn, or of a call that has ended before it was read.
      return '';
    }
  }

  async #cut(caller: Caller, turnId: string, messageId: string, played: number): Promise<void> {
    const { id } = caller.session;
    const answer = async (): Promise<void> => {
      await caller.until('audio.clear');
      caller.send({ type: 'played', message_id: messageId, samples: played });
    };
    switch (this.#cutter) {
      case 'speech':
        caller.say(await clipOf(this.#house));
        return answer();
      case 'interrupt':
        caller.send({ type: 'interrupt' });
        return answer();
      case 'message':
        caller.send({ type: 'message', text: asking(1, 1) });
        return answer();
      case 'abort': {
        const aborted = this.#house.ask(`/sessions/${id}/turns/${turnId}/abort`, { method: 'POST' });
        const [{ status }] = await Promise.all([aborted, answer()]);
        return this.#trial.must(status === 200, `${this.#whose}: the abort is answered ${status}`);
      }
      case 'hangup':
        caller.send({ type: 'hangup' });
        return void (await caller.closed);
      case 'reset':
        return caller.socket.terminate();
      case 'end':
        await this.#house.ask(`/sessions/${id}/end`, { method: 'POST' });
        return void (await caller.closed);
      case 'expiry':
        return void (await caller.closed);
    }
  }

  /** The person heard no word, so the turn did not happen: its words begin the next message. */
  async #withdrawn(caller: Caller, turnId: string): Promise<void> {
    await caller.until('turn.withdrawn', ({ turn_id: id }) => id === turnId);
    if (this.#cutter === 'interrupt') {
      const messages = await transcriptOf(this.#house, caller.session.id);
      this.#trial.must(messages.length === 0, `${this.#whose}: ${messages.length} messages of a turn that never was`);
    }
    this.#trial.count('withdrawn');
  }

  async #sealed(caller: Caller, messageId: string, told: string, { played, saidAt }: At): Promise<void> {
    const trial = this.#trial;
    const isAnswered = ['speech', 'interrupt', 'message', 'abort'].includes(this.#cutter);
    if (isAnswered) await caller.until('turn.aborted', ({ message_id: id }) => id === messageId);
    const reply = await sealedReply(trial, this.#house, caller.session.id, this.#whose);
    trial.must(
      reply.id === messageId && reply.status === 'partial',
      `${this.#whose}: the first reply is ${reply.id}, ${reply.status}`,
    );
    const script = this.#script;
    // The estimate continues from the last report, up to the audio that was sent.
    const sent = played + aheadMs * samplesPerMs;
    // A client on a busy machine may answer too late: then the estimate counts (contract 18).
    const isLate = isAnswered && reply.voice?.heard === 'estimated';
    if (isLate) trial.count('answers that came too late');
    const due: readonly [string, string] =
      isAnswered && !isLate
        ? [script.heardAt(played), script.heardAt(played)]
        : this.#cutter === 'reset'
          ? [script.heardAt(played), script.begunAt(sent)]
          : [script.heardAt(played), script.heardAt(sent)];
    within(trial, script, reply.content, due, this.#whose);
    const [seen, deltas] = [await this.#seen, isAnswered ? caller.textOf(messageId) : told];
    trial.must(
      reply.content.startsWith(seen),
      `${this.#whose}: a reader saw ${JSON.stringify(seen)}, and ${JSON.stringify(reply.content)} is stored`,
    );
    trial.must(
      isAnswered ? reply.content === deltas : reply.content.startsWith(deltas),
      `${this.#whose}: the client was told ${JSON.stringify(deltas)}, and ${JSON.stringify(reply.content)} is stored`,
    );
    const basis = {
      speech: 'played speech',
      interrupt: 'played client',
      message: 'played client',
      abort: 'played api',
      hangup: 'estimated client',
      reset: 'sent lost',
      end: 'estimated null',
      expiry: 'estimated null',
    }[this.#cutter];
    trial.must(
      `${isLate ? 'played' : reply.voice?.heard} ${reply.voice?.cut_by}` === basis,
      `${this.#whose}: ${reply.voice?.heard} ${reply.voice?.cut_by} instead of ${basis}`,
    );
    trial.measured('characters beyond the last report', [...reply.content].length - [...script.heardAt(played)].length);
    if (isAnswered) trial.measured('ms until the seal', performance.now() - saidAt);
    if (!['end', 'expiry'].includes(this.#cutter) && reply.content !== '') await this.#next(caller, reply.content);
  }

  /** The next request to the model has precisely that text, in order. */
  async #next(caller: Caller, content: string): Promise<void> {
    const sessionId: string = caller.session.id;
    if (this.#cutter === 'hangup' || this.#cutter === 'reset')
      await (await this.#house.stream(`/sessions/${sessionId}/chat`, { body: { message: 'well' } })).rest();
    if (this.#cutter === 'interrupt' || this.#cutter === 'abort') caller.send({ type: 'message', text: 'well' });
    const messages = await until(() =>
      this.#stage.askedWith(this.#seed, this.#cutter === 'message' ? /^say 1 1$/ : /^well/),
    );
    const [person, reply] = messages;
    this.#trial.must(
      messages.length === 3 && person!.content === asking(this.#seed, this.#sentences) && reply!.content === content,
      `${this.#whose}: the model was next sent ${JSON.stringify(messages)}, and ${JSON.stringify(content)} is stored`,
    );
  }
}
