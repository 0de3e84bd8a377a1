/** Folders that last as long as a test. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The part of a test that helpers use: it runs teardowns at its end, the last registered first. */
export interface Owner {
  teardown(run: () => Promise<unknown>): unknown;
}

/** Creates an empty folder, which is removed with its content when the test ends. */
export async function temporaryFolder(t: Owner): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
