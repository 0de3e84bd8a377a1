/**
 * Checks a Redis, or a Redis Cluster, as a store. Nothing is written to it except that the scripts are loaded, to
 * check that they compile.
 */
import type { Clock } from '../../base/clock.ts';
import { check, fail, ok, warn, worstOf } from '../doctor/check.ts';
import type { Check, Finding } from '../doctor/check.ts';
import type { Ids } from '../../base/ids.ts';
import type { Records } from '../store.ts';
import { RedisCatalog } from './catalog.ts';
import { isCluster } from './connection.ts';
import { clusterState, replicasOf, slotsClosed } from './doctor/cluster.ts';
import { examinedDeliveries } from './doctor/deliveries.ts';
import type { Node, Timing } from './doctor/node.ts';
import { permissions } from './doctor/permissions.ts';
import { reach } from './doctor/reach.ts';
import * as server from './doctor/server.ts';
import { DueWorkspaces } from './due-workspaces.ts';
import { Roots, usualPrefix } from './keys.ts';
import { RedisLink } from './link.ts';
import { Registry } from './registry.ts';
import { loadScripts } from './scripts.ts';
import { RedisSessions } from './sessions.ts';
import { messageOfThrown } from '../../base/thrown.ts';

export interface RedisExamination {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly allowVolatile: boolean;
  /** The value of the durability setting. */
  readonly durability: string;
  /** Checks the stored records, if the earlier checks allow it. */
  readonly records: (records: Records) => Promise<Check[]>;
}

export async function examineRedis(url: string, examination: RedisExamination): Promise<Check[]> {
  const reached = await reach(url, examination.clock);
  try {
    const checks = [...reached.checks];
    if (reached.nodes.length > 0) checks.push(...(await examineNodes(url, reached.nodes, examination)));
    if (checks.some(({ id, status }) => status === 'fail' && preventing.has(id))) return checks;
    return [...checks, ...(await withRecords(url, examination))];
  } finally {
    for (const node of reached.nodes) node.close();
  }
}

/** Findings that make it impossible to read the store. */
const preventing = new Set(['reachable', 'kind', 'loading', 'version', 'cluster', 'permissions', 'scripts']);

type Rule = (node: Node) => Finding | Promise<Finding>;
type Each = (id: string, nodes: readonly Node[], rule: Rule) => Promise<Check>;

async function examineNodes(url: string, all: readonly Node[], examination: RedisExamination): Promise<Check[]> {
  const cluster = isCluster(url);
  const each: Each = (id, nodes, rule) => overNodes(id, nodes, rule, cluster);
  const info = await each('info', all, (node) =>
    node.learn().then(
      () => ok('answers'),
      (error: Error) => unanswered(error, node),
    ),
  );
  if (info.status === 'fail') return [info];
  const answering = all.filter((node) => node.answered);
  const first =
    answering.length === 0
      ? []
      : [
          await each('kind', answering, (node) => kindOf(node, cluster)),
          await versions(answering, cluster),
          await each('loading', answering, server.loading),
        ];
  if (first.some(({ status }) => status === 'fail')) return first;
  return [
    ...(info.status === 'ok' ? [] : [info]),
    ...first,
    ...(answering.length === 0 ? [] : await answeringChecks(answering, each, cluster, examination)),
    ...(await askedChecks(all, each, cluster, examination)),
  ];
}

/** The checks of the servers' reports about themselves. */
async function answeringChecks(
  answering: readonly Node[],
  each: Each,
  cluster: boolean,
  { durability }: RedisExamination,
): Promise<Check[]> {
  const primaries = answering.filter((node) => node.fact('role') === 'master');
  return [
    await each('disk-writes', answering, server.lastWrites),
    await each('memory', answering, server.memory),
    await each('replicas', primaries, (node) => replicasOf(node, { durability, cluster })),
  ];
}

/** The checks that send requests to the servers. */
async function askedChecks(
  all: readonly Node[],
  each: Each,
  cluster: boolean,
  { allowVolatile }: RedisExamination,
): Promise<Check[]> {
  const scripts = loadScripts();
  const primaries = all.filter((node) => node.fact('role') !== 'slave');
  // A server that is away has no clock; `append-only` reports that it is away.
  const timings = (await Promise.all(all.map((node) => node.timing().catch(() => [])))).flat();
  const greatest = (measure: (timing: Timing) => number): Timing =>
    timings.reduce((most, each) => (measure(each) > measure(most) ? each : most));
  return [
    await each('eviction', all, server.eviction),
    await each('append-only', all, (node) => server.appendOnlyFile(node, allowVolatile)),
    ...(cluster
      ? [check('cluster', await runRule(() => clusterState(all[0]!))), await each('slots', primaries, slotsClosed)]
      : []),
    ...(timings.length === 0
      ? []
      : [
          check('clock', server.clockOf(greatest(({ aheadMs }) => Math.abs(aheadMs)))),
          check('round-trip', server.roundTrip(greatest(({ roundTripMs }) => roundTripMs))),
        ]),
    await each('permissions', primaries, (node) => permissions(node, scripts, cluster)),
    await each('scripts', primaries, (node) => server.scriptsLoad(node, scripts)),
  ];
}

async function overNodes(id: string, nodes: readonly Node[], rule: Rule, cluster: boolean): Promise<Check> {
  const findings = await Promise.all(nodes.map((node) => runRule(() => rule(node))));
  if (!cluster && findings[0] !== undefined) return check(id, findings[0]);
  return check(id, worstOf(nodes.map(({ address }, index) => ({ place: address, finding: findings[index]! }))));
}

/** A server that goes away or refuses meanwhile is a finding too. */
async function runRule(rule: () => Finding | Promise<Finding>): Promise<Finding> {
  try {
    return await rule();
  } catch (error) {
    return fail(
      `no answer: ${messageOfThrown(error) || 'no answer in time'}`,
      'Read the log of Redis, correct the fault, and run this command again.',
    );
  }
}

const unanswered = (error: Error, { user }: Node): Finding =>
  error.message.includes('NOPERM')
    ? warn(
        'The user may not ask INFO: version, memory, disk and replicas were not checked.',
        `redis-cli ACL SETUSER ${user} +info, or run this as a user that may.`,
      )
    : fail(
        `Redis does not answer INFO: ${error.message || 'no answer in time'}`,
        'Read the log of Redis, correct the fault, and run this command again.',
      );

function kindOf(node: Node, cluster: boolean): Finding {
  const [mode, role] = [node.fact('redis_mode'), node.fact('role')];
  if (mode === 'sentinel')
    return fail(
      'This is a Sentinel, which stores nothing.',
      'Give the address of the primary that it watches: SENTINEL GET-MASTER-ADDR-BY-NAME.',
    );
  if (cluster && mode !== 'cluster')
    return fail('This Redis is not a cluster.', 'Write redis: instead of redis-cluster: in PARLEY_STORE.');
  if (!cluster && mode === 'cluster')
    return fail('This Redis is a member of a cluster.', 'Write redis-cluster: instead of redis: in PARLEY_STORE.');
  if (!cluster && role === 'slave') {
    return fail(
      `This Redis is a replica and refuses writes.`,
      `Give the address of its primary in PARLEY_STORE: ${node.fact('master_host')}:${node.fact('master_port')}.`,
    );
  }
  return ok(cluster ? 'a cluster' : 'a single Redis, primary');
}

/** Checks the version; in a cluster all servers should have the same one. */
async function versions(nodes: readonly Node[], cluster: boolean): Promise<Check> {
  const finding = await overNodes('version', nodes, server.version, cluster);
  const different = new Set(nodes.map((node) => node.fact('redis_version')));
  if (finding.status !== 'ok' || different.size === 1) return finding;
  return check(
    'version',
    warn(`Redis ${[...different].sort().join(', ')} side by side`, 'Bring all members to the newest of them.'),
  );
}

/** Reads as the store reads, over its own link. */
async function withRecords(url: string, { clock, ids, records }: RedisExamination): Promise<Check[]> {
  const link = new RedisLink(url, clock, loadScripts());
  const roots = new Roots(usualPrefix);
  try {
    await link.open();
    const catalog = new RedisCatalog(link, roots, ids, new Registry(link, roots, clock, 'calling'));
    const sessions = new RedisSessions(
      link,
      roots,
      new Registry(link, roots, clock, 'active'),
      ids,
      new DueWorkspaces(),
    );
    return await records({
      catalog,
      sessions,
      deliveries: (workspaceId) => examinedDeliveries(link, roots, workspaceId),
    });
  } catch (error) {
    return [
      check(
        'records',
        fail(
          `The records cannot be read: ${messageOfThrown(error)}`,
          'Read the log of Redis, correct the fault, and run this command again.',
        ),
      ),
    ];
  } finally {
    await link.close();
  }
}
