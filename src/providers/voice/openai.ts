/** Voice provider for endpoints with OpenAI's `/audio/speech` and `/audio/transcriptions`. */
import type { Clock, Timer } from '../../base/clock.ts';
import type { ModelFailure } from '../model.ts';
import { parseObject } from '../../base/json.ts';
import { limits } from '../../base/limits.ts';
import type { ProviderRequest, ProviderHttp, ProviderPost } from '../client.ts';
import {
  VoiceFailed,
  type SentenceAudio,
  type SentenceRequest,
  type TranscriptionRequest,
  type VoiceAccess,
  type VoiceProvider,
} from '../voice.ts';
import { noSamples, samplesOf } from './audio/samples.ts';
import { UnreadableAudio } from './audio/unreadable.ts';
import { exactWav, WavReader } from './audio/wav.ts';
import { onAbort } from './abort.ts';
import { AudioPieces } from './pieces.ts';
import { recognitionRate } from './audio/recognition.ts';

/** Milliseconds of a provider's audio for one sentence. */
const voiceSentenceMsMax = 5 * 60_000;
/** Milliseconds from a provider's first byte of a transcript to its last. */
const voiceTranscriptMs = 60_000;

const defaultBaseUrl = 'https://api.openai.com/v1';
const [defaultModel, defaultRecogniser, defaultVoice] = ['tts-1', 'whisper-1', 'alloy'];
/** Sample rate of a provider's `pcm` (contract 8). */
const pcmRate = 24_000;
/** Formats to request, in this order: bare samples need no trusted container. */
const formats = ['pcm', 'wav'] as const;
const voiceCharactersMax = 64;

export function openaiVoice(http: ProviderHttp, clock: Clock): VoiceProvider {
  return {
    provider: 'openai',
    needsCredential: true,
    partials: false,
    refusedField: ({ voice }) => (voice === null || isVoice(voice) ? null : 'voice'),
    voices: ({ voice }) => [
      { id: voice ?? defaultVoice, name: voice ?? defaultVoice, language: 'mul', sampleRate: pcmRate },
    ],
    takesVoice: isVoice,
    takesLanguage: () => true,
    speak: (request) => speak(http, request),
    transcribe: (request) => transcribe(http, clock, request),
  };
}

const isVoice = (id: string): boolean => id.length >= 1 && [...id].length <= voiceCharactersMax;

const bounds = { silenceMs: limits.voiceFirstBytesMs };

function postTo(
  { baseUrl, apiKey }: VoiceAccess,
  path: string,
  contentType: string,
  body: string | Uint8Array,
): ProviderPost {
  return {
    baseUrl: baseUrl ?? defaultBaseUrl,
    path,
    headers: { authorization: `Bearer ${apiKey ?? ''}`, 'content-type': contentType },
    body,
  };
}

async function speak(http: ProviderHttp, request: SentenceRequest): Promise<SentenceAudio> {
  for (const format of formats) {
    const answer = await begin(http, request, format);
    if (answer !== null) return answer;
  }
  throw new VoiceFailed('status');
}

/** Resolves with the first audio, or with null if the endpoint refuses the format. */
function begin(
  http: ProviderHttp,
  { text, name, voice, speed, access, signal }: SentenceRequest,
  format: (typeof formats)[number],
): Promise<SentenceAudio | null> {
  const body = {
    model: name ?? defaultModel,
    input: text,
    voice: voice ?? defaultVoice,
    response_format: format,
    ...(speed === 1 ? {} : { speed }),
  };
  const post = postTo(access, '/audio/speech', 'application/json', JSON.stringify(body));
  return new Promise((resolve, reject) => {
    const pieces = new AudioPieces(
      () => call.hold(),
      () => call.resume(),
    );
    // The head of the answer decides.
    let reader: Reader = new PcmAnswer();
    let taken = 0;
    const fail = (reason: ModelFailure): void => {
      call.cancel();
      pieces.fail(new VoiceFailed(reason));
      reject(new VoiceFailed(reason));
    };
    const call: ProviderRequest = http.post(
      post,
      {
        head(contentType, contentEncoding) {
          const plain = contentEncoding === '' || contentEncoding === 'identity';
          if (!plain || /json|html|^text\/|mpeg|mp3|opus|ogg|aac|flac/.test(contentType)) return fail('malformed');
          if (format === 'wav' || /wav/.test(contentType)) reader = new WavAnswer();
        },
        data(chunk) {
          const samples = reader.take(chunk);
          if (samples === null) return fail('malformed');
          taken += samples.length;
          if (taken === 0) return reader.complete ? fail('malformed') : undefined;
          // Bytes without samples do not reset the timeout: a header may never end.
          call.outputBegan();
          if (taken * 1000 > voiceSentenceMsMax * reader.sampleRate) return fail('malformed');
          if (samples.length > 0) pieces.push(samples);
          resolve({ sampleRate: reader.sampleRate, pieces });
          if (!reader.complete) return;
          pieces.end();
          call.release();
        },
        ended() {
          const rest = reader.end();
          if (rest === null) return fail('malformed');
          if (rest.length > 0) pieces.push(rest);
          else if (!pieces.begun) return fail('cut');
          pieces.end();
          resolve({ sampleRate: reader.sampleRate, pieces });
        },
        failed(failure, status) {
          if ((status === 400 || status === 422) && format !== formats.at(-1)) resolve(null);
          else fail(failure);
        },
      },
      bounds,
    );
    onAbort(signal, () => fail('cut'));
  });
}

/** First bytes of other formats. */
const isContainer = /^(?:ID3|OggS|fLaC|RF64|RIFX|FORM|caff|\x1aE\xdf\xa3|....ftyp)/s;
/** First characters of JSON and of pages, after a byte order mark and white space. */
const beginsAsText = /^(?:\xef\xbb\xbf)?[\t\n\f\r ]*(?:\{[\t\n\r ]*["}]|\[[\t\n\r ]*[\]{}["\dtfn-]|<[!?a-zA-Z])/;
/** Bytes of a text in UTF-8. Samples near silence, as speech begins, have other bytes too. */
const isText = /^[\t\n\f\r\x20-\x7e\x80-\xbf\xc2-\xf4]*$/;
/**
 * Bytes of a body that distinguish text from samples, and bytes that hold an MP3 frame and the beginning of the next.
 */
const [textBytes, lookedAtBytes] = [64, 1_500];

function isNoAudio(body: Buffer): boolean {
  const text = body.toString('latin1', 0, textBytes);
  return isContainer.test(text) || isMp3(body) || (beginsAsText.test(text) && isText.test(text));
}

/** Kilobits per second of layer III, by the index in a frame's header: of MPEG 1, and of MPEG 2 and 2.5. */
const bitrates = [
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
] as const;
const rates = [44_100, 48_000, 32_000] as const;

/** Length of the MP3 frame at this position; 0 without a frame. */
function frameBytes(body: Buffer, at: number): number {
  if (at + 4 > body.length || body.readUInt16BE(at) < 0xffe0 || (body.readUInt8(at + 1) & 6) !== 2) return 0;
  const version = (body.readUInt8(at + 1) >> 3) & 3;
  const bitrate = bitrates[version === 3 ? 0 : 1][body.readUInt8(at + 2) >> 4];
  const rate = rates[(body.readUInt8(at + 2) >> 2) & 3];
  if (version === 1 || !bitrate || rate === undefined) return 0;
  const [samples, divisor] = version === 3 ? [144, 1] : [72, version === 2 ? 2 : 4];
  return Math.floor((samples * bitrate * 1000 * divisor) / rate) + ((body.readUInt8(at + 2) >> 1) & 1);
}

function isMp3(body: Buffer): boolean {
  const length = frameBytes(body, 0);
  return length > 0 && frameBytes(body, length) > 0 && body[length + 1] === body[1];
}

/** Reads audio as it arrives; null if the bytes are not audio. */
interface Reader {
  /** Known with the first samples. */
  readonly sampleRate: number;
  /** Whether the audio has ended; later bytes are ignored. */
  readonly complete: boolean;
  take(chunk: Buffer): Int16Array | null;
  end(): Int16Array | null;
}

/**
 * Reads PCM, whose samples may be split between chunks. A body that begins as a container or as text is refused,
 * although its content type is PCM.
 */
class PcmAnswer implements Reader {
  #rest: Buffer = Buffer.alloc(0);
  #wav: WavAnswer | null = null;
  #begun = false;

  get sampleRate(): number {
    return this.#wav?.sampleRate ?? pcmRate;
  }

  get complete(): boolean {
    return this.#wav?.complete ?? false;
  }

  take(chunk: Buffer): Int16Array | null {
    if (this.#wav !== null) return this.#wav.take(chunk);
    const bytes = Buffer.concat([this.#rest, chunk]);
    if (this.#begun || bytes.length >= lookedAtBytes) return this.#take(bytes);
    this.#rest = bytes;
    return noSamples;
  }

  end(): Int16Array | null {
    // A shorter body has not been examined yet.
    const samples = this.#begun ? noSamples : this.#take(this.#rest);
    return samples !== null && this.#wav?.end() === null ? null : samples;
  }

  #take(bytes: Buffer): Int16Array | null {
    if (!this.#begun) {
      this.#begun = true;
      if (isNoAudio(bytes)) return null;
      if (bytes.toString('latin1', 0, 4) === 'RIFF') {
        this.#wav = new WavAnswer();
        return this.#wav.take(bytes);
      }
    }
    this.#rest = Buffer.from(bytes.subarray(bytes.length & ~1));
    return samplesOf(bytes);
  }
}

class WavAnswer implements Reader {
  readonly #wav = new WavReader();

  get sampleRate(): number {
    return this.#wav.sampleRate!;
  }

  get complete(): boolean {
    return this.#wav.complete;
  }

  take(chunk: Buffer): Int16Array | null {
    return readable(() => this.#wav.push(chunk));
  }

  end(): Int16Array | null {
    return readable(() => {
      this.#wav.end();
      return noSamples;
    });
  }
}

function readable(read: () => Int16Array): Int16Array | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof UnreadableAudio) return null;
    throw error;
  }
}

/** Sends one utterance as a file, with exact sizes in its header. */
async function transcribe(
  http: ProviderHttp,
  clock: Clock,
  { samples, name, language, access, signal }: TranscriptionRequest,
): Promise<string> {
  const form = new FormData();
  form.set('file', new Blob([exactWav(samples, recognitionRate)], { type: 'audio/wav' }), 'utterance.wav');
  form.set('model', name ?? defaultRecogniser);
  form.set('response_format', 'json');
  // Endpoints accept the language without its region.
  if (language !== null) form.set('language', language.replace(/-.*/, '').toLowerCase());
  const encoded = new Response(form);
  const post = postTo(
    access,
    '/audio/transcriptions',
    encoded.headers.get('content-type')!,
    new Uint8Array(await encoded.arrayBuffer()),
  );
  let forget = (): void => {};
  let drips: Timer | null = null;
  const answered = new Promise<string>((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const fail = (reason: ModelFailure): void => {
      call.cancel();
      reject(new VoiceFailed(reason));
    };
    const call = http.post(
      post,
      {
        head() {},
        data(chunk) {
          call.outputBegan();
          drips ??= clock.after(voiceTranscriptMs, () => fail('idle_timeout'));
          bytes += chunk.length;
          if (bytes > limits.providerErrorBytesMax) return fail('malformed');
          chunks.push(Buffer.from(chunk));
        },
        ended() {
          const text = transcriptOf(Buffer.concat(chunks).toString());
          if (text === null) fail('malformed');
          else resolve(text);
        },
        failed: fail,
      },
      bounds,
    );
    forget = onAbort(signal, () => fail('cut'));
  });
  return answered.finally(() => {
    forget();
    drips?.cancel();
  });
}

function transcriptOf(body: string): string | null {
  const text = parseObject(body)?.['text'];
  return typeof text === 'string' ? text.trim() : null;
}
