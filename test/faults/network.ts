/**
 * A separate network for one server, with a wire for each peer that can lose packets silently: no reset, no end, as
 * when a switch dies or a route is wrong. A proxy cannot do that, since it acknowledges the bytes that it takes.
 */
import { execFile, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import { promisify } from 'node:util';
import type { Owner } from '../folders.ts';
import { environment } from '../installed.ts';
import type { Direction } from './way.ts';

const run = promisify(execFile);
const ip = async (...words: string[]): Promise<string> => (await run('ip', words, { env: environment })).stdout;

let reason: string | null | undefined;

/** Reason for which no network can be made here, or null. */
export function lackingNetworks(): string | null {
  if (reason !== undefined) return reason;
  const name = `parley-try-${process.pid}`;
  const made = spawnSync('ip', ['netns', 'add', name], { env: environment });
  if (made.status === 0) spawnSync('ip', ['netns', 'del', name], { env: environment });
  return (reason = made.status === 0 ? null : 'network namespaces need root and the program ip');
}

interface End {
  readonly device: string;
  readonly address: string;
  readonly link: string;
}

/** A link address that no device has, so frames to it are lost. */
const nobody = '02:00:00:00:00:01';

/**
 * From here to the network and back. Each end knows the other's link address for good, so a wrong one loses a direction
 * in silence.
 */
export class Wire {
  readonly #namespace: string;
  readonly #near: End;
  readonly #far: End;

  constructor(namespace: string, near: End, far: End) {
    this.#namespace = namespace;
    this.#near = near;
    this.#far = far;
  }

  /** Address of the server in the network over this wire. */
  get address(): string {
    return this.#far.address;
  }

  /**
   * Loses packets in these directions from now on; they are not delivered later, unless the sender retransmits them.
   */
  async lose(lost: readonly Direction[]): Promise<void> {
    await Promise.all([
      ip(
        'neigh',
        'replace',
        this.#far.address,
        'lladdr',
        lost.includes('there') ? nobody : this.#far.link,
        'dev',
        this.#near.device,
        'nud',
        'permanent',
      ),
      ip(
        '-n',
        this.#namespace,
        'neigh',
        'replace',
        this.#near.address,
        'lladdr',
        lost.includes('back') ? nobody : this.#near.link,
        'dev',
        this.#far.device,
        'nud',
        'permanent',
      ),
    ]);
  }

  /** Loses packets until the function that it resolves with is called. */
  async loseFor(lost: readonly Direction[]): Promise<() => Promise<void>> {
    await this.lose(lost);
    return () => this.lose([]);
  }
}

export class Network {
  readonly #name: string;
  #wires = 0;

  private constructor(name: string) {
    this.#name = name;
  }

  static async open(t: Owner): Promise<Network> {
    const name = `parley-${process.pid}-${randomInt(1e6)}`;
    await ip('netns', 'add', name);
    t.teardown(() => ip('netns', 'del', name));
    await ip('-n', name, 'link', 'set', 'lo', 'up');
    return new Network(name);
  }

  /** The words before a command that runs in it. */
  get within(): readonly string[] {
    return ['ip', 'netns', 'exec', this.#name];
  }

  /** The wire is removed with the network. */
  async wire(): Promise<Wire> {
    const mark = `${randomInt(1e6)}`.padStart(6, '0');
    const [nearDevice, farDevice] = [`py${mark}n${this.#wires}`, `py${mark}f${this.#wires++}`];
    const [near, far] = freeAddresses();
    await ip('link', 'add', nearDevice, 'type', 'veth', 'peer', 'name', farDevice, 'netns', this.#name);
    await ip('address', 'add', `${near}/30`, 'dev', nearDevice);
    await ip('-n', this.#name, 'address', 'add', `${far}/30`, 'dev', farDevice);
    await ip('link', 'set', nearDevice, 'up');
    await ip('-n', this.#name, 'link', 'set', farDevice, 'up');
    const ends = [
      { device: nearDevice, address: near, link: linkOf(await ip('link', 'show', nearDevice)) },
      { device: farDevice, address: far, link: linkOf(await ip('-n', this.#name, 'link', 'show', farDevice)) },
    ] as const;
    const wire = new Wire(this.#name, ...ends);
    await wire.lose([]);
    return wire;
  }
}

const linkOf = (shown: string): string => /link\/ether (\S+)/.exec(shown)![1]!;

/** Two addresses of a free net of four, from the range reserved for benchmarks (RFC 2544). */
function freeAddresses(): readonly [string, string] {
  const taken = Object.values(networkInterfaces()).flatMap((all) => all!.map(({ address }) => address));
  for (;;) {
    const net = `198.${randomInt(18, 20)}.${randomInt(256)}.`;
    const first = 4 * randomInt(64);
    if (!taken.some((address) => address.startsWith(net))) return [`${net}${first + 1}`, `${net}${first + 2}`];
  }
}
