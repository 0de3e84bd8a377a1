/** Runs `parley talk`: finds key, assistant and session, opens microphone and loudspeaker, and hangs up. */
import { WebSocket } from 'ws';
import { call, StreamPlayer, type Call, type CallEvent } from '../client/call.ts';
import { pause, realClock } from '../client/clock.ts';
import type { Assistant, Session } from '../client/types.ts';
import { atItsPace, readClip, resampled, type Clip } from './clip.ts';
import { greetingOf } from './greeting.ts';
import { failureLine, UsageFailure } from './exit.ts';
import type { Input, Io } from './io.ts';
import { note, oneLine } from './output.ts';
import { loudspeaker, microphone, nothingPlays, soundRate, type Sound } from './sound.ts';
import { TalkJson, TalkText, type TalkView } from './talk-view.ts';
import { withAssistant, type Speaking, type VoiceOptions } from './voice-run.ts';
import { wholeVisitor } from './visitor.ts';

export interface TalkOptions extends VoiceOptions {
  readonly session?: string;
  readonly visitor?: readonly string[];
  readonly voice?: string | true;
  readonly headphones?: boolean;
  readonly from?: readonly string[];
  readonly keep?: boolean;
}

/** Silence behind a clip, in milliseconds: by then its speech is noticed, and its turn has begun in most cases. */
const silenceMs = 2_500;
/** Silence behind a clip whose speech has begun no turn, in milliseconds: noise, or a server that is slow. */
const unansweredMs = 15_000;
/** Half duplex: the loudspeaker would be heard. */
const bareNote = 'Nothing you say while the assistant speaks is heard; with --headphones it is. ';
const silence: Clip = { samples: new Int16Array(soundRate / 50), sampleRate: soundRate };

export async function runTalk(io: Io, options: TalkOptions): Promise<void> {
  if (options.session !== undefined && options.assistant !== undefined)
    throw new UsageFailure('Give --assistant or --session, not both: a session has its assistant.');
  if (typeof options.voice === 'string') throw new UsageFailure(othersVoice(options.voice, options.assistant));
  const clips: Clip[] = [];
  for (const file of options.from ?? [])
    clips.push(resampled(await readClip(io, file, 'parley talk --from'), soundRate));
  const ear = options.from === undefined ? microphone(io.env) : null;
  const mouth = loudspeaker(io.env);
  try {
    if (mouth === null && ear !== null) throw new UsageFailure(nothingPlays);
    await withAssistant(io, 'parley talk', options, (speaking) => talk(io, options, speaking, { clips, ear, mouth }));
  } finally {
    ear?.stop();
    mouth?.stop();
  }
}

/** A call offers no choice of a voice: it uses the assistant's. */
const othersVoice = (voice: string, assistant = 'NAME'): string =>
  `A call speaks with the voice of its assistant, in every call. To set it: parley assistants update ${assistant} --voice-id ${voice} (parley voices lists them), or in the console.`;

interface Sounds {
  readonly clips: readonly Clip[];
  readonly ear: Sound | null;
  readonly mouth: Sound | null;
}

async function talk(
  io: Io,
  options: TalkOptions,
  { parley, assistant, signal }: Speaking,
  { clips, ear, mouth }: Sounds,
): Promise<void> {
  const resumed = options.session === undefined ? null : await parley.sessions.get(options.session, { signal });
  const theirs: Assistant =
    resumed === null ? assistant : await parley.assistants.get(resumed.assistant_id, { signal });
  const session: Session =
    resumed ??
    (await parley.sessions.create(
      { assistant_id: assistant.id, visitor: wholeVisitor(assistant, options.visitor ?? []) },
      { signal },
    ));
  const greeting = await greetingOf(parley, theirs, session, signal);
  const view: TalkView = options.json ? new TalkJson(io.stdout) : new TalkText(io, oneLine(theirs.name));
  const player = new StreamPlayer((audio) => mouth?.input.write(audio), { sampleRate: soundRate });
  // A file is not heard together with the reply.
  const bargeIn = ear === null || options.headphones ? 'words' : 'off';
  const live = call(parley, session.id, {
    url: parley.url,
    player,
    signal,
    WebSocket: WebSocket,
    sample_rate: soundRate,
    output_sample_rate: soundRate,
    barge_in: bargeIn,
    thinkingSound: true,
  });
  const over = watch(live, view, greeting);
  if (!options.json && io.stdin.isTTY && ear !== null)
    note(io, `Session ${session.id}. ${options.headphones ? '' : bareNote}Space cuts a reply, Ctrl-C hangs up.`);
  const release = keys(io, live);
  try {
    const heard = ear === null ? sayAll(live, clips) : live.sendFrom(ear.output);
    // A file is said to its end also where nobody hears the reply.
    const needed = ear === null ? [] : [ear.failed, mouth!.failed];
    const failure = await Promise.race([over, ...needed, heard.then(() => over)]);
    if (failure !== null) throw failure;
  } finally {
    await live.hangUp();
    release();
    view.end();
    // The session expires by itself where this fails.
    if (!options.keep && resumed === null)
      await parley.sessions
        .end(session.id)
        .catch((error: unknown) => note(io, `The session could not be ended: ${failureLine(error)}`));
    else if (!options.json) note(io, `The session stays open; continue it with --session ${session.id}`);
  }
}

/** Shows the events. Resolves with the failure that ended the call, null where it was hung up. */
function watch(live: Call, view: TalkView, greeting: string | null): Promise<Error | null> {
  return new Promise((resolve) => {
    live.subscribe((event: CallEvent) => {
      view.event(event);
      if (event.type === 'audio.start' && event.turn_id === null && greeting !== null) view.greeting(greeting);
      if (event.type === 'closed') resolve(event.error);
    });
  });
}

/** Says each clip once the assistant listens, waits for the reply to it, and hangs up behind the last. */
async function sayAll(live: Call, clips: readonly Clip[]): Promise<void> {
  let isAnswered = true;
  live.subscribe((event) => {
    const isTaken = event.type === 'turn.started' ? event.spoken : event.type === 'message.accepted';
    if (isTaken) isAnswered = true;
    else if (event.type === 'turn.withdrawn' || (event.type === 'state' && event.state === 'hearing'))
      isAnswered = false;
  });
  for (const clip of clips) {
    while (live.state !== 'listening' && live.state !== 'closed') await quiet(live);
    isAnswered = true;
    await atItsPace(clip, (frame) => live.send(frame), undefined);
    const sentAt = realClock.now();
    const isOver = (): boolean =>
      live.state === 'listening' && realClock.now() - sentAt >= (isAnswered ? silenceMs : unansweredMs);
    while (live.state !== 'closed' && !isOver()) await quiet(live);
  }
  await live.hangUp();
}

/** A moment of silence; a call is sent audio all the time. */
async function quiet(live: Call): Promise<void> {
  live.send(silence.samples);
  await pause(realClock, 20, undefined);
}

/**
 * The keys of a terminal: space cuts a reply, Ctrl-C hangs up, and a second one does not wait. The function returned
 * gives the terminal back.
 */
export function keys(io: Io, live: Call): () => void {
  const { stdin } = io;
  const terminal = stdin as Input & { setRawMode?: (on: boolean) => void };
  if (!stdin.isTTY || terminal.setRawMode === undefined) return () => {};
  const pressed = (bytes: Buffer | string): void => {
    for (const key of String(bytes)) {
      if (key === ' ') live.interrupt();
      if (key !== '\u0003' && key !== '\u0004') continue;
      if (live.state === 'closed') io.exit(1);
      void live.hangUp();
    }
  };
  terminal.setRawMode(true);
  stdin.on('data', pressed);
  stdin.resume();
  return () => {
    stdin.off('data', pressed);
    terminal.setRawMode!(false);
    stdin.pause();
  };
}
