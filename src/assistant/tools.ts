/** The tools of an assistant in one turn (contract 13). */
import { limits } from '../base/limits.ts';
import { isVisitorChannel } from '../host/visitors.ts';
import type { OfferTaken, ToolOffer } from '../providers/model.ts';
import type { ToolCallContext, OfferedFunction, ToolResult } from '../providers/tool.ts';
import { argumentsOf, checkArguments, argumentsError } from '../providers/tool/arguments.ts';
import type { Span } from '../base/tracing.ts';
import type { AnsweringAssistant } from '../host/versions.ts';
import type { Session, ToolError } from '../store/store.ts';
import { signedVisitorId } from '../store/records/link.ts';
import { askedText, askForPerson, askForPersonName } from './desk-function.ts';
import type { TurnSettings } from './additions.ts';
import { noteOffered } from './quarantine.ts';
import type { AssistantServices } from './services.ts';

/** The tools of a turn (contract 13). */
export interface TurnTools {
  /** The largest number of rounds of tool calls in the turn. */
  readonly roundsMax: number;
  /** The function of the name, if the model was offered it. */
  find(name: string): OfferedFunction | null;
  /** Records which functions the provider accepted: refused ones are not offered any more. */
  noteOffered(taken: OfferTaken): void;
  /** Parses the arguments; null if they do not match the function's schema. Without a function, any object matches. */
  check(offered: OfferedFunction | null, text: string): Readonly<Record<string, unknown>> | null;
  /** Explains to the model, in a sentence, why the arguments do not match the function's schema. */
  misfit(offered: OfferedFunction, text: string): string;
  makeId(): string;
  /** Admits a call: null if it may be sent, otherwise its error, which is then counted. */
  admit(offered: OfferedFunction): Promise<ToolError | null>;
  /** Admits an approved call: its tool may have been removed since the call was requested. */
  admitApproved(name: string): Promise<ToolError | null>;
  /** Counts a call that the turn does not send. */
  noteUnsent(error: ToolError): void;
  /**
   * Sends a call. `stands`: whether the turn still runs here, checked right before each try is written. `span`: the
   * call's, null while traces are off. Never rejects.
   */
  call(
    offered: OfferedFunction,
    callId: string,
    given: Readonly<Record<string, unknown>>,
    turnId: string,
    signal: AbortSignal,
    stands: () => Promise<boolean>,
    span: Span | null,
  ): Promise<ToolResult>;
}

export class AssistantTools implements TurnTools {
  readonly #assistant: AnsweringAssistant;
  readonly #session: Session;
  readonly #services: AssistantServices;
  readonly #settings: TurnSettings;
  #offered: readonly OfferedFunction[] = [];
  /** Functions that the provider refuses. */
  #withheld: ReadonlySet<string> = new Set();

  constructor(assistant: AnsweringAssistant, session: Session, services: AssistantServices, settings: TurnSettings) {
    this.#settings = settings;
    this.#assistant = assistant;
    this.#session = session;
    this.#services = services;
  }

  /**
   * Reads the functions to offer. Functions that the caller runs are offered on the API only. In a spoken turn, and
   * through a protocol adapter, no function of the assistant waits for the caller: a call has no message that could
   * answer it (contract 18).
   */
  async load(): Promise<void> {
    const all = await this.#services.host.tools.functions(this.#assistant);
    const { additions, isSpoken } = this.#settings;
    const added = additions?.tools ?? (isSpoken ? [] : undefined);
    if (added !== undefined)
      this.#offered = [...all.filter(({ kind, approval }) => kind !== 'client' && approval === 'never'), ...added];
    else this.#offered = this.#session.channel === 'api' ? all : all.filter(({ kind }) => kind !== 'client');
    if (this.asksForPeople)
      this.#offered = [...this.#offered.filter(({ name }) => name !== askForPersonName), askForPerson];
  }

  /** Whether the model is offered the function that asks for a person. */
  get asksForPeople(): boolean {
    const { additions } = this.#settings;
    return this.#assistant.desk?.enabled === true && additions === undefined && !this.#session.isForeign;
  }

  noteOffered(taken: OfferTaken): void {
    this.#withheld = taken.withheld;
    const { workspaceId, model } = this.#assistant;
    noteOffered({ workspaceId, provider: model.provider, offered: this.#offered, taken }, this.#services);
  }

  /** Undefined if none are. */
  get offers(): readonly ToolOffer[] | undefined {
    return this.#offered.length === 0 ? undefined : this.#offered;
  }

  get roundsMax(): number {
    return this.#assistant.toolRoundsMax ?? limits.toolRoundsMax;
  }

  find(name: string): OfferedFunction | null {
    return this.#withheld.has(name) ? null : (this.#offered.find((offered) => offered.name === name) ?? null);
  }

  check(offered: OfferedFunction | null, text: string): Readonly<Record<string, unknown>> | null {
    return offered === null ? argumentsOf(text) : checkArguments(offered.parameters, text);
  }

  misfit({ parameters }: OfferedFunction, text: string): string {
    return argumentsError(parameters, text);
  }

  makeId(): string {
    return this.#services.ids.make('call');
  }

  async admit(offered: OfferedFunction): Promise<ToolError | null> {
    if (offered.kind === 'desk') return null;
    return this.#services.tools.admit(this.#assistant.workspaceId, offered);
  }

  noteUnsent(error: ToolError): void {
    this.#services.tools.noteUnsent(error);
  }

  async admitApproved(name: string): Promise<ToolError | null> {
    await this.load();
    const offered = this.find(name);
    if (offered !== null) return this.admit(offered);
    this.noteUnsent('unknown_tool');
    return 'unknown_tool';
  }

  call(
    offered: OfferedFunction,
    callId: string,
    input: Readonly<Record<string, unknown>>,
    turnId: string,
    signal: AbortSignal,
    stands: () => Promise<boolean>,
    span: Span | null,
  ): Promise<ToolResult> {
    if (offered.kind === 'desk') return this.#askForPerson(String(input['reason'] ?? ''));
    const { workspaceId, id: sessionId, assistantId, channel } = this.#session;
    const context: ToolCallContext = {
      workspaceId,
      assistantId,
      sessionId,
      turnId,
      channel,
      ...personOf(this.#session),
      signedVisitorId: signedVisitorId(this.#session),
    };
    return this.#services.tools.call(offered, { callId, arguments: input, context, stands, span }, signal);
  }

  async #askForPerson(reason: string): Promise<ToolResult> {
    try {
      await this.#services.host.attendances.askOf(this.#session, reason);
      return { status: 'completed', output: askedText };
    } catch {
      return { status: 'failed', error: 'refused', didNotAct: true };
    }
  }
}

/**
 * The person of a conversation, as a tool learns of them: known by the backend that opened the session; on the public
 * link only claimed, except for the fields that the site has signed (contract 13).
 */
function personOf({
  channel,
  visitor,
  metadata,
  link,
}: Session): Pick<ToolCallContext, 'visitor' | 'metadata' | 'claimed'> {
  if (!isVisitorChannel(channel)) return { visitor, metadata };
  const signed = (link?.signed && link.signedFields) || [];
  const fields = Object.entries(visitor);
  return {
    visitor: Object.fromEntries(fields.filter(([name]) => signed.includes(name))),
    metadata: {},
    claimed: { visitor: Object.fromEntries(fields.filter(([name]) => !signed.includes(name))), metadata },
  };
}
