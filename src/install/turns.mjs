/**
 * Lets processes of one clone take turns: two that install packages at once remove each other's. The turn is a folder
 * with one file, named after its holder: its process id, and on Linux when it began, as the id of a process that has
 * died is given to another. It appears with its content or not at all, since a folder is not renamed onto one that
 * has something in it, and it goes only when it is empty, so that nobody removes the turn of another by mistake. The
 * turn of a process that has died is void.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const lookMs = 200;
const begun = beginningOf(process.pid);
const ownName = begun === null ? String(process.pid) : `${process.pid}-${begun}`;

/**
 * Runs `work` while no other process has the turn of this folder. `waits` is called once with the holder's id, if
 * somebody has it.
 */
export async function inTurn(folder, waits, work) {
  const own = join(dirname(folder), `.${process.pid}.${basename(folder)}`);
  rmSync(own, { recursive: true, force: true });
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, ownName), '');
  try {
    for (let told = false; !isMoved(own, folder); await delay(lookMs)) {
      const holder = holderOf(folder);
      if (holder !== null && !told) waits(holder);
      told ||= holder !== null;
    }
    return await work();
  } finally {
    rmSync(own, { recursive: true, force: true });
    remove(folder, ownName);
  }
}

function isMoved(own, folder) {
  try {
    renameSync(own, folder);
    return true;
  } catch (error) {
    if (['ENOTEMPTY', 'EEXIST'].includes(error.code) || existsSync(folder)) return false;
    throw error;
  }
}

/**
 * The living process whose turn it is, or null. A dead one may have had this process's id, as in a
 * container that starts again.
 */
function holderOf(folder) {
  for (const name of namesIn(folder)) {
    const [id, begun] = name.split('-');
    const pid = Number(id);
    const isAnother = begun !== undefined && (beginningOf(pid) ?? begun) !== begun;
    if (pid !== process.pid && isAlive(pid) && !isAnother) return pid;
    remove(folder, name);
  }
  return null;
}

function namesIn(folder) {
  try {
    const names = readdirSync(folder);
    if (names.length === 0) rmdirSync(folder);
    return names;
  } catch {
    return [];
  }
}

/**
 * When a process began, in ticks since the machine's start; null where that cannot be read. It stands behind the
 * command, which may have brackets and spaces in it.
 */
function beginningOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return null;
  }
}

function isAlive(pid) {
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function remove(folder, name) {
  rmSync(join(folder, name), { force: true });
  try {
    rmdirSync(folder);
  } catch {
    // Another process has its turn, or has removed this one.
  }
}
