/**
 * Steps on one connection that count once a replica has them. Redis runs a connection's commands in order, so one WAIT
 * confirms every step that was sent before it. The first step is sent with a WAIT; steps sent while a WAIT is under way
 * share the next one.
 */
import { StoreUnavailable } from '../store.ts';
import type { InFlightReplies } from './in-flight-replies.ts';
import type { RedisReply } from './reply.ts';

/** Milliseconds for a replica to confirm. */
const redisReplicaMs = 1_000;

type Command = (args: readonly (string | Buffer)[]) => Promise<RedisReply>;

interface Confirmation {
  /**
   * The request's position among the commands of the connection: the commands before it are confirmed with it.
   * Infinite until it is sent.
   */
  place: number;
  /** Number of replicas that have those commands. */
  readonly replicas: Promise<number>;
}

/** Longer than the longest wait; the key's value is never read. */
const markMs = '60000';

const ignored = (): void => {};

export class ReplicaAck {
  readonly #owed: InFlightReplies;
  readonly #command: Command;
  #sent = 0;
  /** The confirmation that is not sent yet, or null. */
  #next: Confirmation | null = null;
  /** Resolves when the last confirmation sent has its answer, or none will come. */
  #underWay: Promise<void> = Promise.resolve();

  /** `command` sends on one connection; when the connection is lost, it rejects every command without a reply. */
  constructor(owed: InFlightReplies, command: Command) {
    this.#owed = owed;
    this.#command = command;
  }

  /**
   * Resolves with the reply once a replica has the step's write. Rejects with `StoreUnavailable` if no replica confirms
   * it; the step may be applied all the same.
   */
  async send(root: string, args: readonly (string | Buffer)[]): Promise<RedisReply> {
    let place = Infinity;
    const answer = this.#owed.ask(() => {
      place = ++this.#sent;
      return this.#command(args);
    });
    let confirmation = this.#confirmation(root);
    const reply = await answer;
    // A confirmation that was sent before the step does not cover it.
    if (confirmation.place < place) confirmation = this.#confirmation(root);
    if ((await confirmation.replicas) < 1) throw new StoreUnavailable('No replica of Redis has confirmed the step.');
    return reply;
  }

  #confirmation(root: string): Confirmation {
    return (this.#next ??= this.#ask(root));
  }

  #ask(root: string): Confirmation {
    const sent = (): Promise<number> => {
      confirmation.place = ++this.#sent;
      return this.#wait(root);
    };
    const replicas = this.#underWay.then(() => {
      this.#next = null;
      return this.#owed.ask(sent);
    });
    const confirmation: Confirmation = { place: Infinity, replicas };
    this.#underWay = replicas.then(ignored, ignored);
    return confirmation;
  }

  /**
   * WAIT covers only the connection's own last write (since Redis 7.2). A step that was sent a second time, or found a
   * request remembered, has written nothing on this connection, so a write goes before each WAIT.
   */
  #wait(root: string): Promise<number> {
    const marked = this.#command(['SET', `${root}:confirmed`, '', 'PX', markMs]);
    const replicas = this.#command(['WAIT', '1', String(redisReplicaMs)]);
    return Promise.all([replicas, marked]).then(([count]) => count as number);
  }
}
