/**
 * One process owns a folder at a time, also where processes cannot see each other: in two containers, or on two
 * machines.
 *
 * - A lock of the system on the file `owner` decides between processes on one kernel, in any namespaces. It ends with
 *   its process and stays with one that is stopped.
 * - Where there is no such lock, or on a file system that several machines share, the owner's beat decides: an owner
 *   that cannot be
 *   seen, and whose beat has stood still for `leaseMs`, has lapsed.
 * - A process that takes the folder from a lapsed owner puts a new file in the place of `owner` before it reads
 *   anything. An owner
 * looks after each write whether its own file still has its link, and acknowledges the write only then. So an owner
 * that was stopped for longer than its lease acknowledges nothing afterwards, and what it acknowledged before is
 * read.
 */
import { statfsSync } from 'node:fs';
import type { Clock, Timer } from '../../base/clock.ts';
import { StoreInUse, StoreUnavailable } from '../store.ts';
import { dataFile } from './files.ts';
import { bootId, isAlive, pidNamespace, thisProcess, type OwnerRecord } from './owner.ts';
import { OwnerFile, ownerPath, placeOf, removeLeftReplacements, type Lock, type OwnerLook } from './owner-file.ts';

export interface OwnershipOptions {
  readonly clock: Clock;
  /** A new random id. */
  readonly newId: () => string;
  /** Reports in a sentence why an opening waits. */
  readonly notify: (sentence: string) => void;
  /** Called once, when the folder is found to be lost. */
  readonly onLost: (error: FolderLost) => void;
  /** Milliseconds that an opening waits for an owner in another container or on another machine. */
  readonly waitMs?: number;
  /** The process as it looks at owners; by default as it is. */
  readonly here?: Viewer;
  /** Milliseconds without a new beat after which an owner that cannot be seen has lapsed. */
  readonly leaseMs?: number;
}

/** The folder belongs to another process now: this one may acknowledge nothing. */
export class FolderLost extends StoreUnavailable {}

/**
 * `free`: there is no owner, or it is certainly dead. `living`: it is certainly alive. `unseen`: its beat decides.
 * `lapsed`: its beat has stood still for too long.
 */
type Standing = 'free' | 'living' | 'unseen' | 'lapsed';

const waitMsDefault = 60_000;
const leaseMsDefault = 10_000;
/** Between two beats. */
const beatMs = 1000;
/** Between two looks at a folder that another process owns. */
const lookMs = 250;
/** Milliseconds that rivals without a lock may take to replace the same file. */
const settleMs = 100;

/**
 * File systems on a disk that one kernel alone has mounted, by Linux's own numbers (statfs(2)): ext, XFS, Btrfs, F2FS,
 * tmpfs, overlay.
 */
const localDisks = [0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x01021994, 0x794c7630];

/** The process that looks at a folder. */
export interface Viewer {
  readonly boot: string;
  readonly namespace: string;
  isAlive(owner: OwnerRecord): boolean;
}

export const viewer = (): Viewer => ({ boot: bootId(), namespace: pidNamespace(), isAlive });

/** Judges an owner by its record and by the lock on it. */
export function standingOf(
  { record, isNew, inode }: OwnerLook,
  lock: Lock,
  here: Viewer,
  isLocalDisk: boolean,
): Standing {
  if (lock === 'busy') return 'living';
  if (isNew) return 'free';
  if (record === null) return 'unseen';
  if (record.boot !== here.boot) return isLocalDisk ? 'free' : 'unseen';
  // A lock ends with its process, and a copy of the file has no owner.
  if ((record.locked && lock === 'held') || record.inode !== inode) return 'free';
  if (record.namespace !== here.namespace) return 'unseen';
  return here.isAlive(record) ? 'living' : 'free';
}

/** The process id of a living owner that this process sees in its own namespace; null if it sees none. */
const visibleIn = ({ record, inode }: OwnerLook, here: Viewer): number | null =>
  record !== null &&
  record.inode === inode &&
  record.boot === here.boot &&
  record.namespace === here.namespace &&
  here.isAlive(record)
    ? record.pid
    : null;

export function isLocalDisk(folder: string): boolean {
  try {
    return process.platform === 'linux' && localDisks.includes(statfsSync(folder).type);
  } catch {
    return false;
  }
}

/** Follows the beat of an owner that cannot be seen. */
export class BeatWatch {
  readonly #leaseMs: number;
  #seen: string | null = null;
  #sinceMs = 0;

  constructor(leaseMs = leaseMsDefault) {
    this.#leaseMs = leaseMs;
  }

  /** The standing of an owner, with what its beat says of it. */
  judge(standing: Standing, { record, beat, inode }: OwnerLook, nowMs: number): Standing {
    const seen = standing === 'unseen' ? `${inode}/${record?.id}/${beat}` : null;
    const before = this.#seen;
    if (seen === null || seen !== before) {
      this.#seen = seen;
      this.#sinceMs = nowMs;
      return seen === null || before === null ? standing : 'living';
    }
    return nowMs - this.#sinceMs >= this.#leaseMs ? 'lapsed' : standing;
  }
}

/** Looks at the folder's owner without disturbing it; undefined if there is no file `owner`. */
async function readOwner(folder: string, here: Viewer): Promise<{ standing: Standing; look: OwnerLook } | undefined> {
  const file = OwnerFile.openToRead(folder);
  if (file === null) return undefined;
  try {
    const lock = await file.lock('shared');
    const look = file.look();
    return { standing: standingOf(look, lock, here, isLocalDisk(folder)), look };
  } finally {
    file.close();
  }
}

/**
 * The folder's owner; null without one, undefined if no version that knows the file `owner` has opened the folder.
 * Waits for a beat of one that cannot be seen.
 */
export async function findOwner(
  folder: string,
  clock: Clock,
): Promise<{ readonly pid: number | null } | null | undefined> {
  const watch = new BeatWatch(2 * beatMs);
  const here = viewer();
  for (;;) {
    const seen = await readOwner(folder, here);
    if (seen === undefined) return undefined;
    const standing = watch.judge(seen.standing, seen.look, clock.monotonic());
    if (standing === 'living') return { pid: visibleIn(seen.look, here) };
    if (standing !== 'unseen') return null;
    await new Promise<void>((resolve) => clock.after(lookMs, resolve));
  }
}

/**
 * LMDB distinguishes its readers by their process ids alone: beside an owner of the same id in another container it
 * would wait for that one's end.
 */
export async function refuseSameProcessId(folder: string): Promise<void> {
  const here = viewer();
  const seen = await readOwner(folder, here);
  if (
    seen?.look.record?.pid !== process.pid ||
    visibleIn(seen.look, here) !== null ||
    !['living', 'unseen'].includes(seen.standing)
  )
    return;
  throw new StoreUnavailable(
    `The folder ${folder} is in use by a process in another container that has the same process id (${process.pid}), beside which LMDB cannot read. Run this command in that container.`,
  );
}

export class FolderOwnership {
  readonly #folder: string;
  readonly #options: OwnershipOptions;
  readonly #leaseMs: number;
  #file: OwnerFile | null = null;
  #record: OwnerRecord | null = null;
  #lostPower = false;
  /** The database's device and inode. */
  #database: string | null = null;
  #lost: FolderLost | null = null;
  #checkedAtMs = 0;
  #timer: Timer | null = null;

  constructor(folder: string, options: OwnershipOptions) {
    this.#folder = folder;
    this.#options = options;
    this.#leaseMs = options.leaseMs ?? leaseMsDefault;
  }

  /** The id of this ownership. */
  get id(): string {
    return this.#record!.id;
  }

  /** Whether the last owner of this very folder ended with its machine, or may have. */
  get lostPower(): boolean {
    return this.#lostPower;
  }

  /**
   * Takes the folder, or rejects with one clear sentence. Refuses at once if this process sees the owner; waits for one
   * that it does not see. Resolves with whether the last owner has lapsed, and so may live after all.
   */
  async acquire(): Promise<boolean> {
    const { clock, notify, waitMs = waitMsDefault, here = viewer() } = this.#options;
    const giveUpAtMs = clock.monotonic() + waitMs;
    const watch = new BeatWatch(this.#leaseMs);
    for (let isTold = false; ;) {
      const { standing, look } = await this.#attempt(watch, here);
      if (this.#file !== null) return standing === 'lapsed';
      const pid = standing === 'living' ? visibleIn(look, here) : null;
      if (pid !== null) throw new StoreInUse(this.#folder, pid);
      if (clock.monotonic() >= giveUpAtMs)
        throw new StoreUnavailable(
          `${this.#inUse} It did not end within ${waitMs / 1000} s: end it, then start this one again.`,
        );
      if (!isTold)
        notify(
          standing === 'unseen'
            ? `${this.#unseen} Waiting ${this.#leaseMs / 1000} s for a sign of life.`
            : `${this.#inUse} Waiting up to ${waitMs / 1000} s for it to end.`,
        );
      isTold = true;
      await this.#pause(lookMs);
    }
  }

  /** Begins to beat, and to look whether the folder still has this database. */
  hold(): void {
    removeLeftReplacements(this.#folder);
    this.#database = placeOf(dataFile(this.#folder));
    this.#checkedAtMs = this.#options.clock.monotonic();
    this.#beatAgain();
  }

  /** Throws if the folder is lost. A write that was made before this call is acknowledged only after it. */
  verify(): void {
    const isLate = this.#options.clock.monotonic() - this.#checkedAtMs > this.#leaseMs / 2;
    if (this.#lost !== null || !this.#file!.isLinked || (isLate && !this.#check())) throw this.#lose();
  }

  /** Ends the ownership; never throws. */
  release(): void {
    this.#timer?.cancel();
    this.#timer = null;
    const file = this.#file;
    if (file === null) return;
    this.#file = null;
    try {
      if (this.#lost === null && file.isAt(ownerPath(this.#folder))) file.remove();
    } catch {
      // The next owner finds that this process is dead.
    }
    file.close();
  }

  get #inUse(): string {
    return `The folder ${this.#folder} is in use by a process in another container or on another machine.`;
  }

  get #unseen(): string {
    return `The last owner of the folder ${this.#folder} has not closed it, and cannot be seen from here.`;
  }

  /** Takes the folder if nobody owns it. */
  async #attempt(watch: BeatWatch, here: Viewer): Promise<{ standing: Standing; look: OwnerLook }> {
    const file = OwnerFile.open(this.#folder);
    try {
      const lock = await file.lock();
      const look = file.look();
      const standing = watch.judge(
        standingOf(look, lock, here, isLocalDisk(this.#folder)),
        look,
        this.#options.clock.monotonic(),
      );
      // Another process may have put a new file in the place of this one meanwhile.
      if (!['free', 'lapsed'].includes(standing) || !file.isAt(file.path)) return { standing, look };
      // A system that names no boot leaves it open.
      this.#lostPower =
        standing === 'free' &&
        look.record?.inode === look.inode &&
        (here.boot === '' || look.record.boot !== here.boot);
      if (lock === 'held' && standing === 'free') this.#own(file, recordOf(this.#options.newId(), file, true, here));
      else await this.#replace(file, lock, here);
      return { standing, look };
    } finally {
      if (this.#file !== file) file.close();
    }
  }

  /**
   * Puts a new file in the place of a file whose owner may be alive, or whose rivals no lock keeps apart: then the last
   * of them owns the folder.
   */
  async #replace(before: OwnerFile, lock: Lock, here: Viewer): Promise<void> {
    const id = this.#options.newId();
    const file = OwnerFile.create(this.#folder, id);
    const isLocked = lock === 'held' && (await file.lock()) === 'held';
    const record = recordOf(id, file, isLocked, here);
    file.write(record);
    if (before.isAt(before.path)) {
      file.replace(this.#folder);
      if (!isLocked) await this.#pause(settleMs);
      if (file.isAt(before.path)) return this.#own(file, record);
    } else file.remove();
    file.close();
  }

  #own(file: OwnerFile, record: OwnerRecord): void {
    file.write(record);
    this.#file = file;
    this.#record = record;
  }

  #beatAgain(): void {
    this.#timer = this.#options.clock.after(beatMs, () => {
      try {
        this.#file!.beat();
      } catch {
        // Another process may take the folder if the beat stops, and then this one finds the new file.
      }
      if (this.#check()) this.#beatAgain();
      else this.#lose();
    });
  }

  /** Whether the folder's paths still lead to the files of this ownership. */
  #check(): boolean {
    this.#checkedAtMs = this.#options.clock.monotonic();
    return this.#file!.isAt(ownerPath(this.#folder)) && this.#database === placeOf(dataFile(this.#folder));
  }

  #lose(): FolderLost {
    if (this.#lost === null) {
      this.#lost = new FolderLost(
        `The folder ${this.#folder} was taken over by another process, moved or removed while this process had it open.`,
      );
      this.#options.onLost(this.#lost);
    }
    return this.#lost;
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.#options.clock.after(ms, resolve));
  }
}

const recordOf = (id: string, { inode }: OwnerFile, locked: boolean, { boot, namespace }: Viewer): OwnerRecord => ({
  id,
  ...thisProcess(),
  boot,
  namespace,
  inode,
  locked,
});
