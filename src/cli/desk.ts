/** `parley desk` */
import type { Command } from 'commander';
import { addConnectionOptions, inWorkspace, type ConnectionOptions } from './connection.ts';
import { listDesk } from './desk-list.ts';
import { returned, released, sendText, sessionPath, step } from './desk-session.ts';
import type { TakeOptions } from './desk-take.ts';
import type { Io } from './io.ts';

export function registerDesk(program: Command, io: Io): void {
  const desk = program.command('desk').description('conversations that people answer in place of the assistant');
  desk.addHelpText('after', explanation);
  addConnectionOptions(
    desk
      .command('list', { isDefault: true })
      .description('list who waits for a person, the longest first, and what people have; live in a terminal'),
  ).action((options: ConnectionOptions) => listDesk(io, options));
  addConnectionOptions(
    desk
      .command('take')
      .description('take a conversation and answer its visitor, line by line')
      .argument('[session]', 'default: the one that has waited longest'),
  ).action(async (session: string | undefined, options: TakeOptions) => {
    const { takeSession } = await import('./desk-take.ts');
    await takeSession(io, session, options);
  });
  addConnectionOptions(
    desk
      .command('reply')
      .description('send one message in a conversation that you have')
      .argument('<session>')
      .argument('<text>'),
  ).action(reply(io));
  addConnectionOptions(
    desk.command('return').description('give a conversation back to the assistant').argument('<session>'),
  ).action(give(io, 'return', returned));
  addConnectionOptions(
    desk.command('release').description('leave a conversation to the next person').argument('<session>'),
  ).action(give(io, 'release', released));
}

const explanation = `
The command answers as "operator", as everybody does who has the operator token. It counts as present: a conversation that you have
stays yours until you return or release it, or it ends. Any open conversation can be taken, also if nobody has asked for a person.

In "take", each line that you type is a message to the visitor. /return gives the conversation to the assistant, /release to the next
person. Ctrl-C asks for one of the two; a second Ctrl-C leaves, and so does Ctrl-D: the conversation stays yours. Elsewhere than in a terminal
each line of stdin is a message, and its end leaves. With --json the events of the session are printed, one JSON object a line.

Examples:
  parley desk
  parley desk take
  parley desk take ses_01jm3k4q8z9v5x7w2r6t0y1n3b
  parley desk reply ses_01jm3k4q8z9v5x7w2r6t0y1n3b "I have sent the refund."
  parley desk return ses_01jm3k4q8z9v5x7w2r6t0y1n3b`;

const reply =
  (io: Io) =>
  (id: string, text: string, options: ConnectionOptions): Promise<void> =>
    inWorkspace(io, options, async (connection) =>
      connection.show(await sendText(connection, id, text), ({ id: messageId }) => `Sent ${messageId}.`),
    );

const give =
  (io: Io, verb: 'return' | 'release', said: string) =>
  (id: string, options: ConnectionOptions): Promise<void> =>
    inWorkspace(io, options, async (connection) =>
      connection.show(await step(connection, sessionPath(connection, id), verb), () => said),
    );
