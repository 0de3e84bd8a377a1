/** `parley pull` */
import type { Command } from 'commander';
import { counted } from '../base/text.ts';
import { addConnectionOptions, inWorkspace, type ConnectionOptions } from './connection.ts';
import { CommandFailure } from './exit.ts';
import type { Io } from './io.ts';
import { note, print } from './output.ts';

export function registerPull(program: Command, io: Io): void {
  addConnectionOptions(
    program
      .command('pull')
      .description('write the drafts of assistants, their tools and tests to files')
      .argument('<folder>', 'where they are written'),
  )
    .addHelpText('after', help)
    .action(pull(io));
}

const help = `
Writes assistants/NAME.yaml with the prompt beside it as NAME.md, tools/NAME.yaml and
tests/NAME.yaml: by name, without ids and secrets.
A file has the digest of the draft that it was written from; parley apply refuses a draft that has changed since.
Settings that take effect at once (name, description, alias, channels, link) are not in the files.

Examples:
  parley pull assistants-of-ours
  parley credentials update crd_… --name main    files refer to a credential by its name`;

const pull =
  (io: Io) =>
  (folder: string, options: ConnectionOptions): Promise<void> =>
    inWorkspace(io, options, async (connection) => {
      const { readWorkspace, refuseTwins } = await import('./code/installation.ts');
      const { contentOfAssistant, contentOfTest, contentOfTool } = await import('./code/settings.ts');
      const { writeFiles } = await import('./code/folder.ts');
      const { installation, nameless } = await readWorkspace(connection);
      const { assistants, tools, tests } = installation;
      refuseTwins(assistants, 'assistants');
      refuseTwins(tools, 'tools');
      refuseTwins(tests, 'tests');
      for (const [id, user] of nameless)
        throw new CommandFailure(
          `The credential ${id} of "${user}" has no name, and files refer to it by one: parley credentials update ${id} --name NAME`,
        );
      const done = [
        await writeFiles(
          folder,
          'tools',
          tools.map(({ name, digest, settings }) => ({
            name,
            content: () => ({ name, digest, ...contentOfTool(settings) }),
            prompt: null,
          })),
        ),
        await writeFiles(
          folder,
          'assistants',
          assistants.map(({ name, digest, settings }) => ({
            name,
            content: (promptFile) => ({ name, digest, ...contentOfAssistant(settings, promptFile) }),
            prompt: settings.prompt,
          })),
        ),
        await writeFiles(
          folder,
          'tests',
          tests.map(({ name, digest, settings }) => ({
            name,
            content: () => ({ digest, ...contentOfTest(settings) }),
            prompt: null,
          })),
        ),
      ];
      const written = done.flatMap((each) => each.written);
      const counts = { assistants: assistants.length, tools: tools.length, tests: tests.length };
      const result = written.length === 0 ? 'nothing has changed' : `wrote ${written.join(', ')}`;
      print(
        io,
        options.json
          ? JSON.stringify({ object: 'pull', folder, ...counts, written })
          : `${counted(counts.assistants, 'assistant')}, ${counted(counts.tools, 'tool')} and ${counted(counts.tests, 'test')} in ${folder}: ${result}.`,
      );
      for (const path of done.flatMap((each) => each.left))
        note(io, `${path} describes nothing that the workspace has; parley apply would create it.`);
    });
