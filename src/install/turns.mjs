/**
 * Lets processes of one clone take turns: two that install packages at once remove each other's. The turn is a folder with the holder's id as
 * the name of a file. It appears with its content or not at all, since a folder is not renamed onto one that has something in it, and it goes
 * only when it is empty, so that nobody removes the turn of another by mistake. The turn of a process that has died is void.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const lookMs = 200;

/** Runs `work` while no other process has the turn of this folder. `waits` is called once with the holder's id, if somebody has it. */
export async function inTurn(folder, waits, work) {
  const own = join(dirname(folder), `.${process.pid}.${basename(folder)}`);
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, String(process.pid)), '');
  try {
    for (let told = false; !isMoved(own, folder); await delay(lookMs)) {
      const holder = holderOf(folder);
      if (holder !== null && !told) waits(holder);
      told ||= holder !== null;
    }
    return await work();
  } finally {
    rmSync(own, { recursive: true, force: true });
    remove(folder, String(process.pid));
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

/** The living process whose turn it is; null if there is none. A dead one may have had this process's id, as in a container that starts again. */
function holderOf(folder) {
  for (const name of namesIn(folder)) {
    if (name !== String(process.pid) && isAlive(Number(name))) return Number(name);
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
