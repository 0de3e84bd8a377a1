/** The calls of tools in an answer, joined from their parts. */
import { limits } from '../../base/limits.ts';
import type { ModelSink } from '../model.ts';
import type { CallPart } from './dialect.ts';

interface Joined {
  readonly index: number | null;
  readonly id: string | null;
  name: string;
  arguments: string;
}

/** More characters than arguments may have are of no use; what is beyond is dropped, and the arguments are no JSON then. */
const charactersMax = 2 * limits.toolArgumentsBytesMax;

export class JoinedCalls {
  readonly #calls: Joined[] = [];
  readonly #kept = new Map<number, Record<string, string>>();
  #keptCharacters = 0;

  take({ index, id, name, arguments: text }: CallPart): void {
    const known = this.#calls.findLast((call) => index === null || call.index === index);
    // Some endpoints give all calls one index, and some give none: another id is another call.
    const isNew = known === undefined || (id !== null && known.id !== null && id !== known.id) || (id !== null && index === null && known.id !== id);
    const call = isNew ? { index, id, name: '', arguments: '' } : known;
    if (isNew && this.#calls.length < limits.toolCallsTaken) this.#calls.push(call);
    if (call.name === '') call.name = name.slice(0, nameCharactersMax);
    if (call.arguments.length <= charactersMax) call.arguments += text;
  }

  keep(index: number, part: Readonly<Record<string, string>>): void {
    const block = this.#kept.get(index) ?? {};
    for (const [name, text] of Object.entries(part)) {
      this.#keptCharacters += text.length;
      // A part of what it thought would be refused: its signature does not fit.
      if (this.#keptCharacters > limits.providerEventCharactersMax) return this.#kept.clear();
      block[name] = name === 'type' ? text : (block[name] ?? '') + text;
    }
    this.#kept.set(index, block);
  }

  /** Gives the calls to the sink, and what the provider wants back with them. */
  tell(sink: ModelSink): void {
    for (const { name, arguments: text } of this.#calls) sink.call?.({ name, arguments: text });
    if (this.#calls.length > 0 && this.#kept.size > 0) sink.keep?.([...this.#kept.values()]);
  }
}

const nameCharactersMax = 256;
