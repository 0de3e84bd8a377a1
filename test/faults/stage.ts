/**
 * The ground of experiments with calls: a model that says scripts and remembers what it was asked, and assistants that
 * speak with words of known times.
 */
import type { ServerResponse } from 'node:http';
import { callOn, type Caller } from '../api/caller.ts';
import type { House } from '../api/house.ts';
import { credentialOf, transcriptOf } from '../api/talk.ts';
import type { Owner } from '../folders.ts';
import { delta, done, eventStream, provider, type Seen } from '../providers/model/provider.ts';
import type { StoreKind, Trial } from './experiment.ts';
import { Ground, until } from './ground.ts';
import { askedFor, asking, characterMs, type Script } from './script.ts';

interface Message {
  readonly role: string;
  readonly content: string;
}

/**
 * The answer to a message that asks for no script, unless told. One that ends in `wait` has no answer, and one that
 * ends in `stall` and a script an answer without an end.
 */
const otherwise = 'Well then.';
const [waits, stalls] = [/wait$/, /stall say \d+ \d+$/];

export class Stage {
  readonly ground: Ground;
  readonly #assistants = new Map<string, string>();
  #credential = '';
  readonly #baseUrl: string;
  readonly #asked: (readonly Message[])[];

  private constructor(ground: Ground, baseUrl: string, asked: (readonly Message[])[]) {
    this.ground = ground;
    this.#baseUrl = baseUrl;
    this.#asked = asked;
  }

  static async open(t: Owner, store: StoreKind, plain: (message: string) => string = () => otherwise): Promise<Stage> {
    const asked: (readonly Message[])[] = [];
    const answer = (response: ServerResponse, { body }: Seen): void => {
      const messages = body.messages as readonly Message[];
      asked.push(messages);
      const last = messages.at(-1)!.content;
      if (waits.test(last)) return;
      response.writeHead(200, eventStream);
      for (const piece of (askedFor(last)?.text ?? plain(last)).match(/\s*\S+/gu)!) response.write(delta(piece));
      if (!stalls.test(last)) response.end(delta('', 'stop') + done);
    };
    const model = await provider(answer);
    t.teardown(() => model.close());
    return new Stage(await Ground.open(t, store), model.baseUrl, asked);
  }

  /**
   * An assistant with a synthetic voice, made once: what its names say of what it hears, and beside the length of a
   * word of how it speaks.
   */
  async assistant(
    house: House,
    hears: string,
    fields: { readonly [field: string]: unknown } = {},
    speaks = '',
  ): Promise<string> {
    const what = JSON.stringify([hears, fields, speaks]);
    const known = this.#assistants.get(what);
    if (known !== undefined) return known;
    if (this.#credential === '') this.#credential = (await credentialOf(house, 'openai', this.#baseUrl)).id;
    const model = { provider: 'openai', name: 'script', credential_id: this.#credential };
    const voice = { provider: 'synthetic', name: `character_ms=${characterMs}${speaks}`, transcription_name: hears };
    const { id } = await house.assistant({ channels: { voice: true }, model, voice, ...fields });
    this.#assistants.set(what, id);
    return id;
  }

  /** A call whose client has said that it reports: it is waited for from the first sample on. */
  async call(house: House, assistantId: string, query = ''): Promise<Caller> {
    const caller = await callOn(house, await house.session(assistantId), query);
    caller.send({ type: 'played', message_id: 'none', samples: 0 });
    return caller;
  }

  /**
   * The messages, the system's aside, with which the model was asked when this was said in a conversation that begins
   * with the seed's words.
   */
  askedWith(seed: number, last: RegExp): readonly Message[] | undefined {
    return this.#asked
      .map((messages) => messages.filter(({ role }) => role !== 'system'))
      .find(
        (messages) =>
          messages[0]?.content.startsWith(asking(seed, 0).slice(0, -1)) && last.test(messages.at(-1)!.content),
      );
  }
}

/** Plays a reply, as fast as it comes, until exactly so many samples were heard; less if it is shorter. */
export async function playTo(caller: Caller, messageId: string, samples: number): Promise<number> {
  let reported = -1;
  await until(() => {
    const received = caller.received.get(messageId) ?? 0;
    const isWhole = caller.heard.some(({ type, message_id: id }) => type === 'audio.end' && id === messageId);
    // The last report is the one that counts.
    const next = Math.min(received, samples - 1);
    if (next > reported && received < samples)
      caller.send({ type: 'played', message_id: messageId, samples: (reported = next) });
    return received >= samples || isWhole;
  });
  const played = Math.min(samples, caller.received.get(messageId) ?? 0);
  caller.send({ type: 'played', message_id: messageId, samples: played });
  return played;
}

/**
 * The first turn of a session: its reply once it is sealed. Checks that there is one message of each side for each
 * turn, in order.
 */
export async function sealedReply(trial: Trial, house: House, sessionId: string, whose: string): Promise<any> {
  const messages = await until(async () => {
    // A server that has just been replaced may not answer yet.
    const all = await transcriptOf(house, sessionId).catch(() => undefined);
    return all?.[1] !== undefined && all[1].status !== 'streaming' ? all : null;
  });
  const roles = messages.map(({ role }) => role).join(' ');
  trial.must(/^user assistant(?: user assistant)*$/.test(roles), `${whose}: the transcript holds ${roles}`);
  return messages[1];
}

/** The reply begins with this, and goes no further than that. */
export function within(
  trial: Trial,
  script: Script,
  content: string,
  [least, most]: readonly [string, string],
  whose: string,
): void {
  trial.must(
    script.text.startsWith(content),
    `${whose}: ${JSON.stringify(content)} is no beginning of ${JSON.stringify(script.text)}`,
  );
  trial.must(
    content.startsWith(least),
    `${whose}: ${JSON.stringify(content)} is stored, and ${JSON.stringify(least)} was heard`,
  );
  trial.must(
    most.startsWith(content),
    `${whose}: ${JSON.stringify(content)} is stored, and no more than ${JSON.stringify(most)} can have been heard`,
  );
  trial.must(!/\s$/u.test(content), `${whose}: ${JSON.stringify(content)} ends in white space`);
}
