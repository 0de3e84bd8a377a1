/** Any endpoint that speaks OpenAI's `/audio/speech` and `/audio/transcriptions`. */
import type { ModelFailure } from '../model.ts';
import { limits } from '../limits.ts';
import type { ProviderCall, ProviderHttp, ProviderPost } from '../provider.ts';
import { VoiceFailed, type SentenceAudio, type SentenceRequest, type TranscriptionRequest, type VoiceAccess, type VoiceProvider } from '../voice.ts';
import { samplesOf } from './audio/samples.ts';
import { exactWav, readWav } from './audio/wav.ts';
import { onAbort } from './abort.ts';
import { AudioPieces } from './pieces.ts';

const defaultBaseUrl = 'https://api.openai.com/v1';
const [defaultModel, defaultRecogniser, defaultVoice] = ['tts-1', 'whisper-1', 'alloy'];
/** Of a provider's `pcm` (contract 8). */
const sampleRate = 24_000;
/** What is asked for, the first first: bare samples need no container to be trusted. */
const formats = ['pcm', 'wav'] as const;
const voiceCharactersMax = 64;

export function openaiVoice(http: ProviderHttp): VoiceProvider {
  return {
    provider: 'openai',
    needsCredential: true,
    partials: false,
    refusedField: ({ voice }) => (voice === null || isVoice(voice) ? null : 'voice'),
    voices: ({ voice }) => [{ id: voice ?? defaultVoice, name: voice ?? defaultVoice, language: 'mul', sampleRate }],
    takesVoice: isVoice,
    takesLanguage: () => true,
    speak: (request) => speak(http, request),
    transcribe: (request) => transcribe(http, request),
  };
}

const isVoice = (id: string): boolean => id.length >= 1 && [...id].length <= voiceCharactersMax;

const bounds = { firstOutputMs: limits.voiceFirstBytesMs, idleMs: limits.voiceFirstBytesMs };

function postTo({ baseUrl, apiKey }: VoiceAccess, path: string, contentType: string, body: string | Uint8Array): ProviderPost {
  return { baseUrl: baseUrl ?? defaultBaseUrl, path, headers: { authorization: `Bearer ${apiKey ?? ''}`, 'content-type': contentType }, body };
}

async function speak(http: ProviderHttp, request: SentenceRequest): Promise<SentenceAudio> {
  for (const format of formats) {
    const answer = await begin(http, request, format);
    if (answer !== null) return answer;
  }
  throw new VoiceFailed('status');
}

/** Resolves with the first of the audio at hand, or with null if the endpoint does not take the format. */
function begin(http: ProviderHttp, { text, name, voice, speed, access, signal }: SentenceRequest, format: (typeof formats)[number]): Promise<SentenceAudio | null> {
  const body = { model: name ?? defaultModel, input: text, voice: voice ?? defaultVoice, response_format: format, ...(speed === 1 ? {} : { speed }) };
  const post = postTo(access, '/audio/speech', 'application/json', JSON.stringify(body));
  return new Promise((resolve, reject) => {
    const pieces = new AudioPieces(() => call.hold(), () => call.resume());
    let reader: Reader | null = null;
    const fail = (reason: ModelFailure): void => {
      call.cancel();
      pieces.fail(new VoiceFailed(reason));
      reject(new VoiceFailed(reason));
    };
    const call: ProviderCall = http.post(
      post,
      {
        head(contentType, contentEncoding) {
          const plain = contentEncoding === '' || contentEncoding === 'identity';
          if (!plain || /json|html|^text\/|mpeg|mp3|opus|ogg|aac|flac/.test(contentType)) return fail('malformed');
          reader = format === 'wav' || /wav/.test(contentType) ? new WavReader() : new PcmReader();
        },
        data(chunk) {
          call.outputBegan();
          const samples = reader!.take(chunk);
          if (samples === null) return fail('malformed');
          if (samples.length === 0) return;
          pieces.push(samples);
          resolve({ sampleRate, pieces });
        },
        ended() {
          const rest = reader!.end();
          if (rest === null) return fail('malformed');
          const audio = rest.samples.length > 0;
          if (audio) pieces.push(rest.samples);
          if (!audio && !pieces.begun) return fail('cut');
          pieces.end();
          resolve({ sampleRate: rest.sampleRate, pieces });
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

/** How other formats begin. */
const isContainer = /^(?:ID3|OggS|fLaC)/;
/** How JSON and pages begin, behind a mark and white space. */
const beginsAsText = /^(?:\xef\xbb\xbf)?[\t\n\f\r ]*(?:\{[\t\n\r ]*["}]|\[[\t\n\r ]*[\]{}["\dtfn-]|<[!?a-zA-Z])/;
/** Bytes of a text in UTF-8. Samples near silence, as speech begins, have other bytes too. */
const isText = /^[\t\n\f\r\x20-\x7e\x80-\xbf\xc2-\xf4]*$/;
/** So much of a body tells a text from samples. */
const lookedAtBytes = 64;

function isNoAudio(body: Buffer): boolean {
  const text = body.toString('latin1', 0, lookedAtBytes);
  return isContainer.test(text) || (beginsAsText.test(text) && isText.test(text));
}

/** Reads audio as it comes in; null is what is none. */
interface Reader {
  take(chunk: Buffer): Int16Array | null;
  end(): { readonly samples: Int16Array; readonly sampleRate: number } | null;
}

/** Samples may be cut in the middle. What begins as a container or as text is no PCM, whatever its type says. */
class PcmReader implements Reader {
  #rest: Buffer = Buffer.alloc(0);
  #wav: WavReader | null = null;
  #begun = false;

  take(chunk: Buffer): Int16Array | null {
    if (this.#wav !== null) return this.#wav.take(chunk);
    const bytes = Buffer.concat([this.#rest, chunk]);
    if (this.#begun || bytes.length >= lookedAtBytes) return this.#taken(bytes);
    this.#rest = bytes;
    return new Int16Array(0);
  }

  end() {
    // A shorter body has not been looked at yet.
    const samples = this.#begun ? samplesOf(this.#rest) : this.#taken(this.#rest);
    if (samples === null) return null;
    return this.#wav === null ? { samples, sampleRate } : this.#wav.end();
  }

  #taken(bytes: Buffer): Int16Array | null {
    if (!this.#begun) {
      this.#begun = true;
      if (isNoAudio(bytes)) return null;
      if (bytes.toString('latin1', 0, 4) === 'RIFF') {
        this.#wav = new WavReader();
        return this.#wav.take(bytes);
      }
    }
    const whole = bytes.length & ~1;
    this.#rest = Buffer.from(bytes.subarray(whole));
    return samplesOf(bytes);
  }
}

/** Its header may say anything about its length, so it is read once it is whole. */
class WavReader implements Reader {
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  take(chunk: Buffer): Int16Array | null {
    this.#bytes += chunk.length;
    if (this.#bytes > limits.voiceAnswerBytesMax) return null;
    // The bytes are overwritten after the call.
    this.#chunks.push(Buffer.from(chunk));
    return new Int16Array(0);
  }

  end() {
    try {
      return readWav(Buffer.concat(this.#chunks));
    } catch {
      return null;
    }
  }
}

/** One utterance as a file, with exact sizes in its header. */
async function transcribe(http: ProviderHttp, { samples, name, language, access, signal }: TranscriptionRequest): Promise<string> {
  const form = new FormData();
  form.set('file', new Blob([exactWav(samples, 16_000)], { type: 'audio/wav' }), 'utterance.wav');
  form.set('model', name ?? defaultRecogniser);
  form.set('response_format', 'json');
  // Endpoints take the language alone, without its region.
  if (language !== null) form.set('language', language.split('-')[0]!.toLowerCase());
  const encoded = new Response(form);
  const post = postTo(access, '/audio/transcriptions', encoded.headers.get('content-type')!, new Uint8Array(await encoded.arrayBuffer()));
  let forget = (): void => {};
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
  return answered.finally(() => forget());
}

function transcriptOf(body: string): string | null {
  try {
    const { text } = JSON.parse(body) as { text?: unknown };
    return typeof text === 'string' ? text.trim() : null;
  } catch {
    return null;
  }
}
