/** Checks of each Redis server by itself: its version, its persistence, its eviction policy, its clock. */
import { bytes, fail, ok, warn } from '../../doctor/check.ts';
import type { Finding } from '../../doctor/check.ts';
import type { Scripts } from '../scripts.ts';
import { evictionPolicyOf, evicts, readConfig, hiddenConfig, volatile } from '../server-config.ts';
import { textOfReply } from '../reply.ts';
import type { ServerFacts, Node, Timing } from './node.ts';

/** Milliseconds by which a clock may differ. */
const doctorClockMs = 1_000;
/** Share of Redis's maxmemory above which the doctor warns. */
const doctorMemoryShare = 0.8;

/** The first version with RESP 3 (HELLO), which notices and replies rely on. */
const oldest = '6.0.0';

export function version(node: ServerFacts): Finding {
  const version = node.fact('redis_version');
  const older = version.localeCompare(oldest, 'en', { numeric: true }) < 0;
  return older
    ? fail(`Redis ${version}`, `parley needs Redis ${oldest} or later: upgrade it.`)
    : ok(`Redis ${version}`);
}

export function loading(node: ServerFacts): Finding {
  if (node.fact('loading') !== '1') return ok('no');
  const left = node.fact('loading_eta_seconds');
  return fail(
    `Redis is still reading its data${left === '' ? '' : `, about ${left} s more`}`,
    'Wait until INFO persistence says loading:0, and ask again.',
  );
}

const lasting =
  'redis-cli CONFIG SET appendonly yes, CONFIG SET appendfsync everysec, then CONFIG REWRITE so that it lasts.';

/** Checks durability as at startup (`PARLEY_ALLOW_VOLATILE`), and how often the file is flushed to the disk. */
export async function appendOnlyFile(node: Node, allowVolatile: boolean): Promise<Finding> {
  const bad = allowVolatile ? warn : fail;
  try {
    const setting = await readConfig((...words) => node.ask(...words), 'appendonly');
    if (setting !== 'yes') return bad(`${volatile} (appendonly ${setting}).`, lasting);
    const sync = await readConfig((...words) => node.ask(...words), 'appendfsync');
    if (sync === 'no')
      return warn(
        'appendonly yes, appendfsync no: a power cut costs half a minute',
        'redis-cli CONFIG SET appendfsync everysec, then CONFIG REWRITE.',
      );
    return ok(`appendonly yes, appendfsync ${sync}`);
  } catch {
    return bad(
      `${hiddenConfig}.`,
      `redis-cli ACL SETUSER ${node.user} +config|get, or PARLEY_ALLOW_VOLATILE=1 if the service keeps its data.`,
    );
  }
}

export function lastWrites(node: ServerFacts): Finding {
  const reportsFailure = (name: string): boolean => !['', 'ok'].includes(node.fact(name));
  const look = 'Look at the disk of Redis (space, rights of its dir) and into its log';
  if (reportsFailure('aof_last_write_status'))
    return fail('The last write of the append-only file failed, so Redis refuses writes.', `${look}.`);
  if (reportsFailure('rdb_last_bgsave_status'))
    return fail('The last BGSAVE failed, so Redis may refuse writes (MISCONF).', `${look}, then redis-cli BGSAVE.`);
  if (reportsFailure('aof_last_bgrewrite_status'))
    return warn(
      'The last rewrite of the append-only file failed, so it grows.',
      `${look}, then redis-cli BGREWRITEAOF.`,
    );
  return ok('the last ones went well');
}

/** Checks eviction as at startup, and of replicas too: a replica that takes over applies its separate policy. */
export async function eviction(node: Node): Promise<Finding> {
  const policy = await evictionPolicyOf((...words) => node.ask(...words));
  if (policy === '')
    return warn(
      'Redis does not let parley read its eviction policy (CONFIG GET maxmemory-policy, INFO).',
      `redis-cli ACL SETUSER ${node.user} +config|get, or see that it is noeviction.`,
    );
  if (!evicts(policy)) return ok(policy);
  return fail(
    `maxmemory-policy ${policy}: Redis would delete conversations and keys when its memory is full`,
    'redis-cli CONFIG SET maxmemory-policy noeviction, then CONFIG REWRITE.',
  );
}

export function memory(node: ServerFacts): Finding {
  const [used, most] = [Number(node.fact('used_memory')), Number(node.fact('maxmemory'))];
  if (!(most > 0)) return ok(`${bytes(used)} used, no maxmemory`);
  const usage = `${bytes(used)} used of ${bytes(most)} (maxmemory)`;
  const advice = `redis-cli CONFIG SET maxmemory BYTES with more than ${most}, then CONFIG REWRITE; or shorten the retention of the workspaces (retention_days, by PATCH /console/api/workspaces/ID).`;
  if (used >= most) return fail(`${usage}: every write is refused`, advice);
  return used >= most * doctorMemoryShare ? warn(usage, advice) : ok(usage);
}

/**
 * Leases, budgets, deadlines and dates use Redis's clock, not the process's clock, which only the log uses. A
 * cluster's servers should agree.
 */
export function clockOf({ aheadMs, roundTripMs }: Timing): Finding {
  const away = Math.max(0, Math.abs(aheadMs) - roundTripMs / 2);
  const difference = `${(Math.abs(aheadMs) / 1000).toFixed(3)} s ${aheadMs < 0 ? 'behind' : 'ahead of'} ours`;
  if (away <= doctorClockMs) return ok(difference);
  return warn(
    difference,
    'Deadlines and dates use the clock of Redis and log lines use ours, so they disagree by this difference: run a time service (chronyd, systemd-timesyncd) on both machines.',
  );
}

export const roundTrip = ({ roundTripMs }: Timing): Finding => ok(`${roundTripMs.toFixed(1)} ms`);

/** Whether every step compiles on the server and gets the digest that we send it by. */
export async function scriptsLoad(node: Node, scripts: Scripts): Promise<Finding> {
  const all = Object.entries(scripts);
  const wrong = await Promise.all(
    all.map(async ([name, { source, digest }]) => {
      const answer = await node.ask('SCRIPT', 'LOAD', source).then(textOfReply, (error: Error) => error.message);
      return answer === digest ? [] : [`${name}: ${answer}`];
    }),
  );
  const [first] = wrong.flat();
  if (first === undefined) return ok(`all ${all.length} load`);
  if (first.includes('NOPERM'))
    return warn(
      'The user may not load scripts (SCRIPT LOAD), so they were not checked; parley itself sends them with EVAL.',
      `redis-cli ACL SETUSER ${node.user} +script|load, to have them checked.`,
    );
  return fail(
    `${wrong.flat().length} of ${all.length} do not load, ${first}`,
    'Install parley again (npm ci); if Redis is a substitute, it lacks functions that the scripts need.',
  );
}
