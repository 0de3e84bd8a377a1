/** The calls of tools in an answer, joined from their parts. */
import { limits } from '../../base/limits.ts';
import type { Json } from '../../base/json.ts';
import type { OpaqueFields } from '../../base/opaque-fields.ts';
import type { ModelSink } from '../model.ts';
import { ArgumentText, argumentTexts, offeredName } from './tool-call-text.ts';
import type { ToolCallPart } from './dialect.ts';
import { GrowingFields } from './opaque.ts';

interface Joined {
  readonly index: number | null;
  id: string | null;
  name: string;
  readonly arguments: ArgumentText;
  readonly fields: GrowingFields;
}

/**
 * More characters than arguments may have are of no use; what is beyond is dropped, and the arguments are no JSON then.
 */
const charactersMax = 2 * limits.toolArgumentsBytesMax;
const nameCharactersMax = 256;
const idCharactersMax = 256;

/** A provider, and the functions that it was offered. */
export interface ToolCallOffer {
  readonly origin: string;
  /** Our names by those that the model may call. */
  readonly offered: ReadonlyMap<string, string>;
  /** Returns the part of the kept fields that is stored with the tool calls; null if nothing is stored. */
  storedOf(thoughts: readonly Json[]): Json | null;
}

export class JoinedToolCalls {
  readonly #of: ToolCallOffer;
  readonly #calls: Joined[] = [];
  readonly #thoughts = new Map<number, Record<string, string>>();
  #keptCharacters = 0;
  readonly #round = new GrowingFields();

  constructor(of: ToolCallOffer) {
    this.#of = of;
  }

  take(part: ToolCallPart): void {
    const joined = part.begins ? undefined : this.#find(part);
    const isNew = joined === undefined || this.#isAnother(joined, part);
    const call = isNew
      ? { index: part.index, id: part.id, name: '', arguments: new ArgumentText(), fields: new GrowingFields() }
      : joined;
    if (isNew && this.#calls.length < limits.toolCallsTaken) this.#calls.push(call);
    if (part.fields !== null) call.fields.take(part.fields);
    const isRepeated =
      !isNew &&
      call.arguments.isWhole &&
      ((part.name !== '' && part.name === call.name) || (part.id !== null && part.id === call.id));
    call.id ??= part.id;
    if (call.name === '') call.name = part.name.slice(0, nameCharactersMax);
    else if (part.name !== call.name && call.arguments.text === '')
      call.name = (call.name + part.name).slice(0, nameCharactersMax);
    if (isRepeated) repeat(call.arguments, part.arguments);
    else if (call.arguments.text.length <= charactersMax) call.arguments.append(part.arguments);
  }

  /** The call that a part may belong to: the one of its id, else the last one of its place. */
  #find({ index, id }: ToolCallPart): Joined | undefined {
    const there = (call: Joined): boolean => index === null || call.index === index;
    const ofId = id === null ? undefined : this.#calls.findLast((call) => there(call) && call.id === id);
    return ofId ?? this.#calls.findLast(there);
  }

  /**
   * Whether a part begins another call: endpoints give several calls one place, one id or none, and one call another id
   * in each part.
   */
  #isAnother(joined: Joined, { id, name, arguments: text }: ToolCallPart): boolean {
    if (name === '' || joined.name === '') return false;
    const { offered } = this.#of;
    const isOther = id !== null && joined.id !== null && id !== joined.id;
    const isSame = id !== null && id === joined.id;
    if (joined.arguments.isWhole) {
      const goesOn =
        name === joined.name &&
        (joined.arguments.isBlank || text.trim() === '' || text.trim() === joined.arguments.text.trim());
      return isOther || !(isSame || goesOn);
    }
    if (joined.arguments.text !== '') return name !== joined.name;
    if (isOther) return offered.has(joined.name);
    return name !== joined.name && offered.has(joined.name) && offered.has(name) && !offered.has(joined.name + name);
  }

  /** Keeps a part of a block of thoughts for the turn. */
  keep(index: number, part: Readonly<Record<string, string>>): void {
    this.#keptCharacters += Object.values(part).reduce((sum, text) => sum + text.length, 0);
    if (this.#keptCharacters > limits.providerEventCharactersMax || this.#thoughts.size > limits.toolCallsTaken) {
      // A part of what it thought would be refused: its signature does not fit.
      this.#keptCharacters = Infinity;
      return this.#thoughts.clear();
    }
    const block = this.#thoughts.get(index) ?? {};
    for (const [name, text] of Object.entries(part)) block[name] = name === 'type' ? text : (block[name] ?? '') + text;
    this.#thoughts.set(index, block);
  }

  /** Keeps unknown fields of the round. */
  keepFields(fields: Json): void {
    this.#round.take(fields);
  }

  /** Gives the calls to the sink, and what the provider wants back with them. */
  tell(sink: ModelSink): void {
    const { offered } = this.#of;
    const thoughts = [...this.#thoughts.values()];
    const stored = this.#of.storedOf(thoughts);
    let round = stored === null ? this.#round.whole : { ...this.#round.whole, ...stored };
    let isFirst = true;
    for (const { id, name, arguments: given, fields } of this.#calls) {
      if (name === '' && given.text.trim() === '') continue;
      for (const [at, text] of argumentTexts(given.text).entries()) {
        sink.call?.(
          { name: offeredName(name, offered), arguments: text },
          this.#opaqueOf(at === 0 ? id : null, at === 0 ? fields.whole : null, round),
        );
        isFirst = false;
        round = null;
      }
    }
    if (!isFirst && thoughts.length > 0) sink.keep?.(thoughts);
  }

  /** Fields that are too much are left out; the id is no matter of size. */
  #opaqueOf(given: string | null, call: Json | null, round: Json | null): OpaqueFields | undefined {
    const id = given !== null && given.length <= idCharactersMax ? given : null;
    const fields = { ...(call !== null && { call }), ...(round !== null && { round }) };
    const fits = (call === null && round === null) || JSON.stringify(fields).length <= limits.toolOpaqueCharactersMax;
    if (id === null && (!fits || (call === null && round === null))) return undefined;
    return { origin: this.#of.origin, ...(id !== null && { id }), ...(fits && fields) };
  }
}

/** Arguments that come again whole count once, and those that come later than an empty object count alone. */
function repeat(before: ArgumentText, text: string): void {
  const again = new ArgumentText();
  again.append(text);
  if (text.trim() !== '' && (before.isBlank || (again.isWhole && !again.isBlank))) before.replace(text);
  else before.append(text);
}
