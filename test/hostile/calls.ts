/** Hostile clients of calls, several at a time, with a good call beside them. */
import fc from 'fast-check';
import { Caller } from '../api/caller.ts';
import type { Owner } from '../folders.ts';
import { speaker } from '../providers/voice/talker.ts';
import { healthy, type Runs } from './barrage.ts';
import { judgeCall } from './call-judge.ts';
import { visitCall } from './call-visitor.ts';
import { callVisits, type CallVisit } from './call-visits.ts';
import type { Edge } from './judge.ts';
import { faultOf, openVoiceWorld, type VoiceWorld } from './voice.ts';

export interface CallWorld extends VoiceWorld {
  /** An assistant that is called. */
  readonly called: string;
}

export async function openCallWorld(t: Owner, edge: Edge): Promise<CallWorld> {
  const world = await openVoiceWorld(t, edge);
  const { id } = await speaker(world.house, {
    greeting: 'Good day.',
    model: { provider: 'synthetic', name: 'tokens=24,delay_ms=4' },
    voice: {
      provider: 'synthetic',
      name: 'character_ms=8',
      transcription_name: 'texts=tell_me_a_story|yes||no_stop_it|word_word_word',
    },
  });
  return { ...world, called: id };
}

/** Visits that are under way together. */
const together = 8;

/** Throws with the seed and the smallest lot that went wrong. */
export async function callBarrage(world: CallWorld, { seed, times, onProgress }: Runs): Promise<void> {
  let sent = 0;
  const run = async (lot: readonly CallVisit[]): Promise<void> => {
    await Promise.all([goodCall(world), ...lot.map((visit) => one(world, visit))]);
    await healthy(world);
    const fault = faultOf(world);
    if (fault !== null) throw new Error(`The server logged a fault: ${fault}`);
    onProgress?.((sent += lot.length));
  };
  await fc.assert(fc.asyncProperty(fc.array(callVisits, { minLength: 1, maxLength: together, size: 'max' }), run), {
    seed,
    numRuns: Math.ceil((2 * times) / together),
    endOnFailure: times < 1000,
  });
}

async function one(world: CallWorld, visit: CallVisit): Promise<void> {
  let got = 'nothing';
  try {
    const visited = await visitCall(world, world.called, visit, world.bytesOf);
    got = `${JSON.stringify(visited.came)} and ${visited.code}, the transcript ${JSON.stringify(visited.transcript)}`;
    judgeCall(visit, visited);
  } catch (error) {
    throw new Error(`${(error as Error).message}\nof ${JSON.stringify(visit)}\ngot ${got}`);
  }
}

/** A caller who follows the contract, and must be answered whichever attacks run. */
async function goodCall({ house, called }: CallWorld): Promise<void> {
  const session = await house.session(called);
  const { json } = await house.ask('/call-tokens', { body: { session_id: session.id } });
  const caller = new Caller(`${house.url.replace('http', 'ws')}/call?token=${json.token}&greeting=false`, session);
  await caller.until('ready');
  caller.send({ type: 'message', text: 'Hello' });
  await caller.plays();
  const { message_id: messageId } = await caller.until('turn.completed');
  caller.send({ type: 'hangup' });
  const code = await caller.closed;
  if (code !== 1000 || caller.textOf(messageId) !== 'word '.repeat(24))
    throw new Error(`The good call closed with ${code} and heard ${JSON.stringify(caller.textOf(messageId))}.`);
}
