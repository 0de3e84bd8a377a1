/** The files of `parley apply`, as they are read. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { readFolder } from '../../../src/cli/code/folder.ts';
import { temporaryFolder } from '../../folders.ts';

t.test('a number that is out of its range is refused with its line and the range', async (t) => {
  const folder = await temporaryFolder(t);
  await mkdir(join(folder, 'assistants'));
  const refusalOf = async (text: string): Promise<unknown> => {
    await writeFile(join(folder, 'assistants', 'a.yaml'), `name: A\n${text}\n`);
    return readFolder(folder).catch((error) => error.message);
  };
  t.match(await refusalOf('max_call_seconds: 0'), /a\.yaml:2: .*It must be a whole number from 1 to \d+\.$/);
  t.match(await refusalOf('model:\n  temperature: 9'), /a\.yaml:3: .*It must be a number from 0 to 2\.$/);
  t.match(await refusalOf('greeting: 5'), /a\.yaml:2: .*not allowed\.$/, 'a text has no range');
});
