/**
 * Speaks a reply while it is written: takes text and returns audio frames, and for each sentence the times of its words
 * (contract 18).
 */
import type { Clock, Timer } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import { codePoints } from '../../base/text.ts';
import type { SentenceAudio, SentenceRequest, VoiceProvider, WordSpan } from '../voice.ts';
import { leadOf, withoutLead } from './audio/lead.ts';
import { OutgoingAudio, type Frame, type OutputEncoding } from './audio/outgoing.ts';
import { joinedSamples, onePiece } from './audio/samples.ts';
import { Sounds } from './audio/sounds.ts';
import { planOf, spansInProportion, type PlannedText, type UtterancePlan } from './plan.ts';
import { AudioPieces } from './pieces.ts';
import { SentenceStream } from './sentence-stream.ts';
import { sayingOf, type Saying } from './sound.ts';

export interface StreamingSynthesisOptions {
  readonly provider: VoiceProvider;
  readonly request: Pick<SentenceRequest, 'caller' | 'name' | 'voice' | 'speed' | 'access'>;
  readonly encoding: OutputEncoding;
  /** Hertz. */
  readonly sampleRate: number;
  readonly clock: Clock;
  /** Reports the start of a sentence's synthesis, with its code points. */
  begun(characters: number): void;
  /** Reports further sentences of the reply before its end. */
  written(): void;
}

/**
 * Events of each sentence: first its text, then its frames. Its plan precedes them if the voice reports word times,
 * otherwise it comes among them, as soon as all of its audio has arrived. Samples are of the output.
 */
export type SynthesisEvent =
  /**
   * Beginning of a sentence, after so many samples of the reply. Its text is `from` (included) to `to` (not included),
   * without the white space after it.
   */
  | { readonly type: 'sentence'; readonly from: number; readonly to: number; readonly start: number }
  | ({ readonly type: 'frame' } & Frame)
  | { readonly type: 'plan'; readonly plan: UtterancePlan };

interface Voicing {
  readonly sentence: PlannedText;
  readonly audio: Promise<SentenceAudio>;
}

/** The sentence that is sent, and the next one. */
const voicedAtOnce = 2;

export class StreamingSynthesis {
  readonly #options: StreamingSynthesisOptions;
  readonly #saying: Saying;
  readonly #stream: SentenceStream;
  readonly #output: OutgoingAudio;
  readonly #waiting: PlannedText[] = [];
  readonly #voicing: Voicing[] = [];
  readonly #stop = new AbortController();
  #index = 0;
  #ended = false;
  #timer: Timer | null = null;
  #wake: () => void = () => {};

  constructor(options: StreamingSynthesisOptions) {
    const { provider, encoding, sampleRate } = options;
    this.#options = options;
    this.#saying = sayingOf(provider);
    this.#stream = new SentenceStream(this.#saying);
    this.#output = new OutgoingAudio(encoding, sampleRate);
  }

  /** Takes a piece of the reply's text. */
  push(text: string): void {
    if (!this.#over) this.#offer(this.#stream.push(text, this.#now));
  }

  /** Flushes: more text arrives only later, so the text so far counts as whole. */
  rest(): void {
    if (!this.#over) this.#offer(this.#stream.end());
  }

  /** Ends the text of the reply. */
  end(): void {
    if (this.#over) return;
    this.#ended = true;
    this.#offer(this.#stream.end());
  }

  /** Stops the synthesis and the frames. */
  stop(): void {
    this.#timer?.cancel();
    this.#stop.abort();
    this.#wake();
  }

  /** Yields all events once; ends with the last sentence, or when it is stopped. Rejects with `VoiceFailed`. */
  async *spoken(): AsyncGenerator<SynthesisEvent, void> {
    try {
      for (let voicing = await this.#next(); voicing !== null; voicing = await this.#next()) {
        yield* this.#sentence(voicing);
        this.#voicing.shift();
        this.#voice();
      }
      if (!this.#stop.signal.aborted) for (const frame of this.#output.end()) yield { type: 'frame', ...frame };
    } catch (error) {
      if (!this.#stop.signal.aborted) throw error;
    } finally {
      this.stop();
    }
  }

  get #over(): boolean {
    return this.#ended || this.#stop.signal.aborted;
  }

  /** Whether the text still has unread sentences. */
  get #isBehind(): boolean {
    return !this.#stop.signal.aborted && this.#stream.isBehind;
  }

  get #now(): number {
    return this.#options.clock.monotonic();
  }

  #offer(sentences: readonly PlannedText[]): void {
    this.#waiting.push(...sentences);
    if (sentences.length > 0 && !this.#over) this.#options.written();
    this.#voice();
    this.#timer?.cancel();
    const due = this.#over && !this.#isBehind ? null : this.#stream.dueAt;
    this.#timer =
      due === null
        ? null
        : this.#options.clock.after(Math.max(0, due - this.#now), () => this.#offer(this.#stream.look(this.#now)));
    this.#wake();
  }

  /** Begins the sentences that may be synthesised now. */
  #voice(): void {
    const { provider, request, begun } = this.#options;
    while (this.#voicing.length < voicedAtOnce && this.#waiting.length > 0 && !this.#stop.signal.aborted) {
      const sentence = this.#waiting.shift()!;
      const awaited = this.#voicing.length === 0;
      begun(codePoints(sentence.raw));
      const audio = provider.speak({
        ...request,
        text: sentence.spokenText,
        index: this.#index++,
        timed: true,
        awaited,
        signal: this.#stop.signal,
      });
      // The result is awaited after the sentence before has been sent.
      audio.catch(() => {});
      this.#voicing.push({ sentence, audio });
    }
  }

  async #next(): Promise<Voicing | null> {
    while (this.#voicing.length === 0 && (!this.#over || this.#isBehind))
      await new Promise<void>((resolve) => (this.#wake = resolve));
    return this.#stop.signal.aborted ? null : (this.#voicing[0] ?? null);
  }

  async *#sentence({ sentence, audio }: Voicing): AsyncGenerator<SynthesisEvent, void> {
    const output = this.#output;
    const { pieces, sampleRate, words } = output.samples === 0 ? await atOnce(await audio) : await audio;
    for (const frame of output.begin(sampleRate)) yield { type: 'frame', ...frame };
    yield {
      type: 'sentence',
      from: sentence.from,
      to: sentence.from + codePoints(sentence.raw.trimEnd()),
      start: output.samples,
    };
    // Audio with word times is complete before it is sent, so that its plan can precede it.
    const heard = words === undefined ? gathered(pieces, sampleRate) : wholeOf(await allOf(pieces), sampleRate);
    const step = Math.round((sampleRate * limits.speechPieceMs) / 1000);
    let planned = false;
    for await (const piece of heard.pieces) {
      for (let at = 0; at < piece.length; at += step) {
        if (heard.sounds !== null && !planned) yield this.#plan(sentence, words, heard.sounds);
        planned = heard.sounds !== null;
        for (const frame of output.push(piece.subarray(at, at + step))) yield { type: 'frame', ...frame };
        if (this.#stop.signal.aborted) return;
      }
    }
    if (!planned) yield this.#plan(sentence, words, heard.sounds!);
    for (const frame of output.endSentence()) yield { type: 'frame', ...frame };
  }

  #plan(sentence: PlannedText, words: readonly WordSpan[] | undefined, sounds: Sounds): SynthesisEvent {
    const spans = (words ?? spansInProportion(sentence.spokenText, sounds)).map(({ from, to }) => ({
      from: this.#output.placeOf(from),
      to: this.#output.placeOf(to),
    }));
    return { type: 'plan', plan: planOf(sentence, spans, this.#output.placeOf(sounds.samples), this.#saying.sayable) };
  }
}

/** The first sentence of a reply begins with its first sound. */
async function atOnce({ pieces, sampleRate, words }: SentenceAudio): Promise<SentenceAudio> {
  if (words === undefined) return { pieces: withoutLead(pieces, sampleRate), sampleRate };
  const whole = await allOf(pieces);
  const lead = leadOf(whole, sampleRate);
  const spans = words.map(({ from, to }) => ({ from: Math.max(0, from - lead), to: Math.max(0, to - lead) }));
  return { pieces: onePiece(whole.subarray(lead)), sampleRate, words: spans };
}

async function allOf(pieces: AsyncIterable<Int16Array>): Promise<Int16Array> {
  const all: Int16Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return joinedSamples(all);
}

interface Gathered {
  readonly pieces: AsyncIterable<Int16Array> | Iterable<Int16Array>;
  /** Sounds of the whole audio; null until it has arrived. */
  sounds: Sounds | null;
}

function wholeOf(samples: Int16Array, sampleRate: number): Gathered {
  const sounds = new Sounds(sampleRate);
  sounds.push(samples);
  return { pieces: [samples], sounds };
}

/** Reads a voice's audio ahead of its reader: the sentence's length and thereby its words are known sooner. */
function gathered(pieces: AsyncIterable<Int16Array>, sampleRate: number): Gathered {
  const sounds = new Sounds(sampleRate);
  let room: Promise<void> | null = null;
  let resume = (): void => {};
  const ahead = new AudioPieces(
    () => void (room = new Promise((resolve) => (resume = resolve))),
    () => {
      room = null;
      resume();
    },
  );
  const take = async (): Promise<void> => {
    try {
      for await (const piece of pieces) {
        sounds.push(piece);
        ahead.push(piece);
        await room;
      }
      audio.sounds = sounds;
      ahead.end();
    } catch (error) {
      ahead.fail(error as Error);
    }
  };
  const audio: Gathered = { pieces: ahead, sounds: null };
  void take();
  return audio;
}
