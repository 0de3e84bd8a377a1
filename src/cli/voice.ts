/** `parley speak`, `parley listen` and `parley voices` */
import { Option, type Command } from 'commander';
import { decimal } from './arguments.ts';
import { addConnectionOptions } from './connection.ts';
import type { Io } from './io.ts';
import { addPageOptions } from './list.ts';
import type { ListenOptions, SpeakOptions, VoicesOptions } from './voice-run.ts';

const addSpeakOptions = (command: Command): Command =>
  command
    .option('--assistant <id|name>', 'default: the only published one whose voice is on, or the one called "demo"')
    .option(
      '--key <key>',
      'the API key to use (PARLEY_API_KEY; default: one made for this command and revoked at its end)',
    );

export function registerVoice(program: Command, io: Io): void {
  addSpeakOptions(
    addConnectionOptions(
      program.command('speak').description('speak a text').argument('[text...]', 'stdin by default'),
    ),
  )
    .addOption(
      new Option('--format <format>', 'default: as the name of --out ends, else wav').choices([
        'wav',
        'pcm',
        'mp3',
        'opus',
      ]),
    )
    .option('--voice <id>', "one of `parley voices` (default: the assistant's)")
    .option('--speed <factor>', '0.5 to 2 (default: 1)', decimal(0.5, 2))
    .option('--out <file>', 'the output file (default: stdout; if stdout is a terminal, the speech is played)')
    .addHelpText('after', speakExamples)
    .action(async (words: string[], options: SpeakOptions) =>
      (await import('./voice-run.ts')).runSpeak(io, words, options),
    );
  addSpeakOptions(
    addConnectionOptions(
      program
        .command('listen')
        .description('transcribe a WAV file')
        .argument('[file]', 'of any rate, PCM or floating point; - is stdin', '-'),
    ),
  )
    .addHelpText('after', listenExamples)
    .action(async (file: string, options: ListenOptions) =>
      (await import('./voice-run.ts')).runListen(io, file, options),
    );
  addSpeakOptions(
    addPageOptions(program.command('voices').description('list the voices that an assistant can speak with')),
  )
    .addHelpText('after', voicesExamples)
    .action(async (options: VoicesOptions) => (await import('./voice-run.ts')).voices(io, options));
}

const speakExamples = `
Examples:
  parley speak "Hello there"
  parley speak "Hello there" > hello.wav
  parley speak --voice rms --speed 1.2 --out hello.mp3 < greeting.txt`;

const listenExamples = `
The file is sent at the pace in which it was spoken. In a terminal the words show while they are heard: words that may still change are
dim. Elsewhere, and when they are final, each utterance is one line. With --json every message of the socket is a line.

Examples:
  parley listen hello.wav
  parley speak "Hello there" | parley listen
  parley listen --json call.wav`;

const voicesExamples = `
Examples:
  parley voices
  parley voices --assistant support --json`;
