/** parley with an assistant that listens and speaks by the embedded voice. */
import { childrenOf, move, setNiceness } from '../harness/process.ts';
import { clipOf, sentences, type Clip } from '../load/clips.ts';
import { Calling } from '../load/calling.ts';
import { Talking } from '../load/talking.ts';
import type { Contender, Instance } from '../harness/contender.ts';
import { startHouse, storeFolder, type House } from './parley.ts';

export interface VoiceHouse extends Instance {
  readonly house: House;
  readonly clips: readonly Clip[];
  /** The voice processes, which run on the load's core: where the server has a core they have another. */
  voiceProcesses(): number[];
  talk(query?: string): Promise<Talking>;
  /** Opens a call on a new session. */
  call(query?: string): Promise<Calling>;
  /** The samples of a text, s16le, and how long the first of them took from the request, in milliseconds. */
  speak(text: string): Promise<{ readonly audio: Buffer; readonly firstMs: number }>;
}

export const parleyVoice: Contender = {
  name: 'parley',
  note: 'The embedded voice; the server on its core, the voice processes on the other with the load, which goes before them where that is permitted.',
  standing: 'always',
  async start(surroundings) {
    const { folder, remove } = await storeFolder();
    const house = await startHouse({ store: `lmdb:${folder}`, surroundings });
    const voice = await withVoice(house);
    const others = favourOthers(voice);
    const stop = async (): Promise<void> => {
      setNiceness(others, 0);
      await house.stop();
      await remove();
    };
    return { ...voice, stop };
  },
};

/**
 * Gives load and provider priority over the voice processes, whose core they share: real clients and providers run on
 * other machines.
 */
function favourOthers({ voiceProcesses }: VoiceHouse): number[] {
  const voices = voiceProcesses();
  const others = [process.pid, ...childrenOf(process)].filter((pid) => !voices.includes(pid));
  setNiceness(others, -10);
  return others;
}

async function withVoice(house: House): Promise<VoiceHouse> {
  const within = `/workspaces/${house.workspace}`;
  const { key } = await house.console('POST', `${within}/keys`, {
    name: 'voice',
    limits: { requests: 1_000_000, speech: 1_000_000, transcription_tokens: 1_000_000 },
  });
  const { id } = await house.console('POST', `${within}/assistants`, { name: 'voice', channels: { voice: true } });
  await house.console('POST', `${within}/assistants/${id}/publish`);
  const send = (path: string, body: object): Promise<Response> =>
    fetch(`${house.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const post = (path: string, body: object): Promise<Response> => send(path, { assistant_id: id, ...body });
  const voiceProcesses = (): number[] => {
    const pids = childrenOf(house.server.child);
    move(pids, 'load');
    return pids;
  };
  const talk = async (query = ''): Promise<Talking> => {
    const response = await post('/transcription-tokens', {});
    const { token } = (await response.json()) as { token: string };
    return Talking.open(`${house.url.replace('http', 'ws')}/transcription?token=${token}${query}`);
  };
  const call = async (query = ''): Promise<Calling> => {
    const session = (await (await post('/sessions', {})).json()) as { id: string };
    const { token } = (await (await send('/call-tokens', { session_id: session.id })).json()) as { token: string };
    return Calling.open(`${house.url.replace('http', 'ws')}/call?token=${token}${query}`);
  };
  const speak = async (text: string): Promise<{ audio: Buffer; firstMs: number }> => {
    const sentAt = performance.now();
    const response = await post('/speech', { text, format: 'pcm' });
    if (!response.ok) throw new Error(`/speech answered ${response.status}: ${await response.text()}`);
    let firstMs = 0;
    const pieces: Uint8Array[] = [];
    for await (const piece of response.body!) {
      if (pieces.length === 0) firstMs = performance.now() - sentAt;
      pieces.push(piece);
    }
    return { audio: Buffer.concat(pieces), firstMs };
  };
  const clips: Clip[] = [];
  for (const sentence of sentences) clips.push(clipOf((await speak(sentence)).audio));
  // The recogniser is loaded when it is first needed.
  await (await talk()).burst(clips[0]!.audio);
  const conversations: Instance['conversations'] = (shape, count) => house.conversations(shape, count);
  return { ...house, house, clips, voiceProcesses, talk, call, speak, conversations };
}
