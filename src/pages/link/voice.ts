/** Speaks and listens for the visitor. Loaded with the first use. */
import { microphone, type Microphone } from '../../client/microphone.ts';
import type { Parley } from '../../client/parley.ts';
import { insecure } from '../call/insecure.ts';
import type { VoicePage } from './voice-page.ts';

/** The limit of one request for speech. */
const charactersMax = 1000;

/** Writes what the visitor says into the text field, until `ending`. */
export async function listen({ options, composer }: VoicePage, worklet: string, ending: AbortSignal): Promise<void> {
  if (!isSecureContext) throw Object.assign(new Error(), { said: insecure[options.language] });
  // The browser asks for the microphone within the click, and before anything is spent.
  const source = await microphone({ worklet }).catch(() => {
    throw Object.assign(new Error(), { code: 'no_microphone' });
  });
  const before = composer.text === '' ? '' : `${composer.text.trimEnd()} `;
  try {
    // Nobody is heard any more, and the button says so.
    source.onHeld = (held) => held && source.stop();
    // The button was pressed again before the browser had an answer.
    if (ending.aborted) return;
    const chat = options.chat();
    await transcribe(chat.parley, await chat.session(), source, ending, (heard) => (composer.text = before + heard));
  } finally {
    source.stop();
  }
  composer.input.focus();
}

/** Reads a text aloud, until `ending`. */
export async function speak(
  { options }: VoicePage,
  text: string,
  loudspeaker: AudioContext,
  ending: AbortSignal,
): Promise<void> {
  const chat = options.chat();
  try {
    await playSpeech(chat.parley, await chat.session(), text, loudspeaker, ending);
  } finally {
    void loudspeaker.close();
  }
}

/** Gives the transcript so far, until `ending`; an utterance begun by then is transcribed to its end. */
async function transcribe(
  parley: Parley,
  session_id: string,
  source: Microphone,
  ending: AbortSignal,
  heard: (text: string) => void,
): Promise<void> {
  const transcription = parley.transcribe({ session_id, sample_rate: source.sampleRate });
  ending.addEventListener('abort', () => source.stop());
  if (ending.aborted) source.stop();
  const sending = (async () => {
    for await (const frame of source) await transcription.send(frame);
    await transcription.finish();
  })();
  sending.catch(() => source.stop());
  let final = '';
  for await (const message of transcription) {
    if (message.type === 'transcript.partial') heard(joined(final, message.text));
    if (message.type !== 'transcript.final') continue;
    final = joined(final, message.text);
    heard(final);
  }
  await sending;
}

const joined = (one: string, other: string): string => [one, other].filter((text) => text !== '').join(' ');

/** Speaks a text as its audio comes. Resolves when all was played, or at `ending`. */
async function playSpeech(
  parley: Parley,
  session_id: string,
  text: string,
  loudspeaker: AudioContext,
  ending: AbortSignal,
): Promise<void> {
  let until = 0;
  for (const part of parts(text)) {
    const speech = await parley.speech({ session_id, text: part, format: 'pcm' }, { signal: ending });
    let rest = new Uint8Array();
    for await (const bytes of speech) {
      const whole = new Uint8Array([...rest, ...bytes]);
      const even = whole.length - (whole.length % 2);
      rest = whole.slice(even);
      if (even > 0) until = play(loudspeaker, whole.slice(0, even), speech.sampleRate, until);
    }
  }
  await silence(loudspeaker, until, ending);
}

/** Appends samples to what is being played; returns when they end, in the loudspeaker's seconds. */
function play(loudspeaker: AudioContext, bytes: Uint8Array, sampleRate: number, behind: number): number {
  const view = new DataView(bytes.buffer);
  const buffer = loudspeaker.createBuffer(1, bytes.length / 2, sampleRate);
  const samples = buffer.getChannelData(0);
  for (let index = 0; index < samples.length; index++) samples[index] = view.getInt16(index * 2, true) / 32_768;
  const source = loudspeaker.createBufferSource();
  source.buffer = buffer;
  source.connect(loudspeaker.destination);
  const at = Math.max(behind, loudspeaker.currentTime + 0.05);
  source.start(at);
  return at + buffer.duration;
}

/** Resolves when the loudspeaker's time has come. */
function silence(loudspeaker: AudioContext, until: number, ending: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const last = loudspeaker.createConstantSource();
    last.onended = () => resolve();
    ending.addEventListener('abort', () => resolve());
    last.start();
    last.stop(Math.max(until, loudspeaker.currentTime));
  });
}

/** A text in parts that one request takes each, cut at ends of sentences where there are some. */
function parts(text: string): string[] {
  const found: string[] = [];
  for (let rest = [...text.trim()]; rest.length > 0;) {
    const head = rest.slice(0, charactersMax).join('');
    const cut =
      rest.length <= charactersMax
        ? head
        : (/^[\s\S]*[.!?。！？]\s/.exec(head)?.[0] ?? /^[\s\S]*\s/.exec(head)?.[0] ?? head);
    found.push(cut);
    rest = rest.slice([...cut].length);
  }
  // A part without a letter or digit cannot be spoken.
  return found.filter((part) => /[\p{L}\p{N}]/u.test(part));
}
