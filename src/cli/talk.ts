/** `parley talk` */
import type { Command } from 'commander';
import { gather } from './arguments.ts';
import { addConnectionOptions } from './connection.ts';
import type { Io } from './io.ts';
import type { TalkOptions } from './talk-run.ts';

export function registerTalk(program: Command, io: Io): void {
  addConnectionOptions(program.command('talk').description('talk with an assistant aloud'))
    .option('--assistant <id|name>', 'default: the only published one whose voice is on, or the one called "demo"')
    .option(
      '--key <key>',
      'the API key to use (PARLEY_API_KEY; default: one made for this call and revoked at its end)',
    )
    .option('--session <id>', 'continue this session')
    .option('--visitor <name=value>', 'a visitor field; may be given several times', gather)
    .option(
      '--voice [id]',
      "not available: a call uses the assistant's voice, which `parley assistants update NAME --voice-id ID` sets",
    )
    .option('--headphones', 'the microphone does not hear the reply, so speech may cut it')
    .option(
      '--from <file>',
      'send this WAV file instead of the microphone; - is stdin; may be given several times',
      gather,
    )
    .option('--keep', 'leave the session open at the end')
    .addHelpText('after', explanation)
    .action(async (options: TalkOptions) => {
      const { runTalk } = await import('./talk-run.ts');
      await runTalk(io, options);
    });
}

const explanation = `
The microphone is heard through arecord, rec (sox), parecord or ffmpeg, and the reply is played through ffplay, aplay, play (sox) or
paplay. Without --headphones nothing that is said while the assistant speaks is heard, as it would hear itself. The space bar cuts a
reply, Ctrl-C hangs up. Behind each reply stands the time from the end of your voice to its first sound. A soft sound tells that a reply
is thought of for long. With --from the reply is played if there is a player, and the call ends when it has been heard. With --json the
events of the call are printed, one a line. The assistant's voice speaks; its page in the console sets it too.

Examples:
  parley talk
  parley talk --headphones --assistant support
  parley speak "What can you do?" | parley talk --from -
  parley talk --from hello.wav --from goodbye.wav --json`;
