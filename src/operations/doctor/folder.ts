/** Checks a data folder: the folder, the secrets in it, the store in it. Nothing in it is changed. */
import { constants } from 'node:fs';
import { access, readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { Config } from '../../base/config.ts';
import type { Ids } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { dataFile } from '../../store/lmdb/files.ts';
import { RecordsLost } from '../../store/journal/replay.ts';
import { headerProblem, missingProblem } from '../../store/lmdb/header.ts';
import { readFolder, findLivingOwner } from '../../store/lmdb/read-only.ts';
import { walkPages } from '../../store/lmdb/pages.ts';
import { codePoints } from '../../base/text.ts';
import { check, fail, ok, warn } from '../../store/doctor/check.ts';
import type { Check, Finding } from '../../store/doctor/check.ts';
import { filesystemChecks } from './filesystem.ts';
import { examineRecords, type OpeningSecrets } from './records.ts';

/** Milliseconds for the rows of a data folder, one after the other. */
const doctorWalkMs = 30_000;

export async function examineFolder(folder: string, config: Config, clock: Clock, ids: Ids): Promise<Check[]> {
  const there = await folderCheck(folder);
  if (there.status === 'fail') return [check('folder', there)];
  if (!(await exists(folder))) return [check('folder', there), ...(await filesystemChecks(await nearest(folder), 0))];
  const file = dataFile(folder);
  const size = await bytesIn(folder);
  const secret = await keptFile(folder, 'secret', config.secret, 'PARLEY_SECRET', limits.secretCharactersMin);
  const token = await keptFile(
    folder,
    'operator-token',
    config.operatorToken,
    'PARLEY_OPERATOR_TOKEN',
    limits.operatorTokenCharactersMin,
  );
  const before = [
    check('folder', there),
    ...(await filesystemChecks(folder, size)),
    secret.check,
    token.check,
    check('files', await filesCheck(folder)),
  ];
  return [
    ...before,
    ...(await storeChecks(folder, file, { secret: secret.text, previous: config.secretPrevious }, clock, ids)),
  ];
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Returns the size of the files in the folder: the database, its journal, the secrets. */
async function bytesIn(folder: string): Promise<number> {
  const sizes = await Promise.all(
    (await readdir(folder)).map((name) =>
      stat(join(folder, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** The innermost folder above that is there. */
async function nearest(folder: string): Promise<string> {
  let path = resolve(folder);
  while (!(await exists(path)) && dirname(path) !== path) path = dirname(path);
  return path;
}

const problem = (path: string, mode: number): Promise<string | null> =>
  access(path, mode).then(
    () => null,
    (error: NodeJS.ErrnoException) => error.code ?? error.message,
  );

async function folderCheck(folder: string): Promise<Finding> {
  const path = resolve(folder);
  const status = await stat(path).catch((error: NodeJS.ErrnoException) => error);
  const elsewhere = 'name another folder in PARLEY_STORE=lmdb:FOLDER.';
  if (status instanceof Error) {
    const above = await nearest(path);
    if (status.code !== 'ENOENT')
      return fail(`${path} cannot be used (${status.code})`, `Correct the path, or ${elsewhere}`);
    const closed = await problem(above, constants.W_OK | constants.X_OK);
    if (closed === null) return ok(`${path} is not there yet; the first start makes it`);
    return fail(
      `${path} is not there and cannot be made in ${above} (${closed})`,
      `Make it for the user that runs parley: install -d -m 700 -o USER ${path}; or ${elsewhere}`,
    );
  }
  if (!status.isDirectory()) return fail(`${path} is not a folder`, `Move it away, or ${elsewhere}`);
  const closed = await problem(path, constants.R_OK | constants.W_OK | constants.X_OK);
  if (closed !== null)
    return fail(
      `${path} cannot be read and written (${closed})`,
      `chown -R USER ${path} with the user that runs parley, or ${elsewhere}`,
    );
  return othersMay(status.mode)
    ? warn(`${path} is open to other users (mode ${octal(status.mode)})`, `chmod 700 ${path}`)
    : ok(path);
}

const octal = (mode: number): string => (mode & 0o777).toString(8);
const othersMay = (mode: number): boolean => process.platform !== 'win32' && (mode & 0o077) !== 0;

/**
 * The store's files, which only their owner may read: other users could read a folder that is open now, or have
 * copied from it. Each secret has a separate check.
 */
async function filesCheck(folder: string): Promise<Finding> {
  const names = (await readdir(folder)).filter((name) => name !== 'secret' && name !== 'operator-token').sort();
  const modes = await Promise.all(
    names.map((name) =>
      stat(join(folder, name)).then(
        (found) => (found.isFile() ? found.mode : 0),
        () => 0,
      ),
    ),
  );
  const open = names.flatMap((name, at) => (othersMay(modes[at]!) ? [{ name, mode: modes[at]! }] : []));
  if (open.length === 0) return ok('for their owner alone');
  const exposure = open.map(({ name, mode }) => `${name} is open to other users (mode ${octal(mode)})`).join(', ');
  return warn(exposure, `chmod 600 ${open.map(({ name }) => join(resolve(folder), name)).join(' ')}`);
}

/** A secret that is kept in the folder where the settings give none. */
async function keptFile(
  folder: string,
  name: string,
  given: string | null,
  variable: string,
  charactersMin: number,
): Promise<{ check: Check; text: string | null }> {
  const path = join(resolve(folder), name);
  if (given !== null) return { check: check(name, ok(`${variable} is set`)), text: given };
  const status = await stat(path).catch(() => null);
  if (status === null) return { check: check(name, ok(`not there yet; the next start makes ${path}`)), text: null };
  if (status.isDirectory())
    return {
      check: check(name, fail(`${path} is a folder`, 'Move it away: the next start makes a file.')),
      text: null,
    };
  const text = await readFile(path, 'utf8').then(
    (text) => text.trim(),
    () => null,
  );
  if (text === null)
    return {
      check: check(name, fail(`${path} cannot be read`, `chown USER ${path} with the user that runs parley.`)),
      text: null,
    };
  const anew = 'Restore its content, or remove it: the next start makes a new one.';
  if (text === '') return { check: check(name, fail(`${path} is empty`, anew)), text: null };
  if (codePoints(text) < charactersMin)
    return { check: check(name, fail(`${path} has fewer than ${charactersMin} characters`, anew)), text: null };
  if (othersMay(status.mode))
    return {
      check: check(name, warn(`${path} is open to other users (mode ${octal(status.mode)})`, `chmod 600 ${path}`)),
      text,
    };
  return { check: check(name, ok(path)), text };
}

const unlessPower =
  'After a loss of power the store goes on with the earlier state. Else bring back the last good copy of the folder.';
const ifFilled =
  'If there was a store, as before a copy that was interrupted: bring back the last good copy of the folder.';

async function storeChecks(
  folder: string,
  file: string,
  secrets: OpeningSecrets,
  clock: Clock,
  ids: Ids,
): Promise<Check[]> {
  const backup = 'Bring back the last good copy of the data folder, or name an empty folder in PARLEY_STORE.';
  const size = await stat(file).then(
    (found) => found.size,
    () => null,
  );
  const missing = missingProblem(folder);
  if (missing !== null) return [check('store', fail(`${file} ${missing}`, backup))];
  if (size === null) return [check('store', ok('empty; the first start fills it'))];
  if (size === 0) return [check('store', warn(`${file} is empty; the next start begins an empty store`, ifFilled))];
  const closed = await problem(file, constants.R_OK | constants.W_OK);
  if (closed !== null)
    return [
      check(
        'store',
        fail(
          `${file} cannot be read and written (${closed})`,
          `chown -R USER ${resolve(folder)} with the user that runs parley.`,
        ),
      ),
    ];
  try {
    const damage = headerProblem(file);
    if (damage !== null) return [check('store', fail(`${file} ${damage}`, backup))];
    const owner = await findLivingOwner(folder, clock);
    if (owner !== null)
      return [
        check(
          'store',
          ok(
            `in use by a running parley (${owner.pid === null ? 'in another container or on another machine' : `process ${owner.pid}`}); its rows were not checked`,
          ),
        ),
      ];
    const untilMs = clock.monotonic() + doctorWalkMs;
    const { rows, isCut, problem: fault, hasEarlier } = walkPages(file, () => clock.monotonic() > untilMs);
    if (fault !== null && !hasEarlier) return [check('store', fail(`${file} ${fault}`, backup))];
    if (fault !== null) return [check('store', warn(`${file} ${fault}; an earlier state is whole`, unlessPower))];
    const summary = `opens, ${isCut ? `its first ${rows}` : `its ${rows}`} rows read well, and no parley runs on it`;
    return [
      check('store', ok(summary)),
      ...(await readFolder(folder, (records) => examineRecords(records, secrets, ids, clock.now()))),
    ];
  } catch (error) {
    const { cause, message } = error as Error;
    if (cause instanceof RecordsLost)
      return [
        check(
          'store',
          fail(
            `${file} and the journal are not whole: ${cause.message}`,
            `${backup} Or accept the loss: PARLEY_ACCEPT_LOSS=${cause.file}`,
          ),
        ),
      ];
    return [check('store', fail(`${file} cannot be opened: ${message}`, backup))];
  }
}
