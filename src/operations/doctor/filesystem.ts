/** Checks the filesystem of a folder: its kind and its free space. */
import { statfs } from 'node:fs/promises';
import { bytes, check, fail, ok, warn } from '../../store/doctor/check.ts';
import type { Check, Finding } from '../../store/doctor/check.ts';

/** Bytes of free space below which the doctor warns. */
const doctorDiskBytesLow = 1024 * 1024 * 1024;
/** Bytes of free space below which the check fails. */
const doctorDiskBytesMin = 64 * 1024 * 1024;

/** Linux's own numbers of filesystems (statfs(2)). */
const kinds: Readonly<Record<number, string>> = {
  0x6969: 'NFS',
  0x517b: 'SMB',
  0xff534d42: 'CIFS',
  0xfe534d42: 'SMB2',
  0x01021997: '9p',
  0x00c36400: 'Ceph',
  0x5346414f: 'AFS',
  0x0bd00bd0: 'Lustre',
  0x47504653: 'GPFS',
  0x01161970: 'GFS2',
  0x65735546: 'FUSE',
};
const temporary = 0x01021994;

/** A memory-mapped file and its lock want a filesystem of the machine's own. */
export function filesystemKind(type: number): Finding {
  const kind = kinds[type];
  if (kind !== undefined)
    return warn(
      `${kind}, not a disk of this machine`,
      'LMDB may lose data there: put the data folder on a local disk (PARLEY_STORE=lmdb:FOLDER), or use Redis.',
    );
  if (type === temporary)
    return warn(
      'tmpfs: gone with the next start of the machine',
      'Put the data folder on a disk: PARLEY_STORE=lmdb:FOLDER.',
    );
  return ok('local');
}

export function diskRoom(free: number, used: number): Finding {
  const space = `${bytes(free)} free, the store has ${bytes(used)}`;
  const advice =
    'Make room there, or shorten the retention of the workspaces (retention_days, by PATCH /console/api/workspaces/ID).';
  if (free < doctorDiskBytesMin) return fail(space, advice);
  return free < doctorDiskBytesLow ? warn(space, advice) : ok(space);
}

export async function filesystemChecks(folder: string, storeBytes: number): Promise<Check[]> {
  const { type, bavail, bsize } = await statfs(folder);
  const kind = process.platform === 'linux' ? [check('filesystem', filesystemKind(type))] : [];
  return [...kind, check('disk', diskRoom(bavail * bsize, storeBytes))];
}
