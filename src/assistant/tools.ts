/** The tools of an assistant in one turn (contract 13). */
import { limits } from '../base/limits.ts';
import type { OfferTaken, ToolOffer } from '../providers/model.ts';
import type { CallContext, OfferedFunction, ToolResult } from '../providers/tool.ts';
import { argumentsOf, checkArguments, misfitOfText } from '../providers/tool/arguments.ts';
import type { Assistant, Session, ToolError } from '../store/store.ts';
import type { TurnTools } from '../turn/ports.ts';
import type { FrontSettings } from './adapter-settings.ts';
import { noteOffered } from './quarantine.ts';
import { isVisitorChannel } from '../conversation/party.ts';
import type { Services } from '../conversation/services.ts';

export class AssistantTools implements TurnTools {
  readonly #assistant: Assistant;
  readonly #session: Session;
  readonly #services: Services;
  readonly #front: FrontSettings | undefined;
  readonly #isSpoken: boolean;
  #offered: readonly OfferedFunction[] = [];
  /** Functions that the provider refuses. */
  #withheld: ReadonlySet<string> = new Set();

  constructor(assistant: Assistant, session: Session, services: Services, front?: FrontSettings, isSpoken = false) {
    this.#front = front;
    this.#isSpoken = isSpoken;
    this.#assistant = assistant;
    this.#session = session;
    this.#services = services;
  }

  /**
   * Reads what is offered on the session's channel: a function that the caller runs on the API alone, and nothing that
   * waits for the caller behind a front, but the caller's own, or in a spoken turn: a call has no message that answers
   * it (contract 18).
   */
  async load(): Promise<void> {
    const { workspaceId, toolIds = [] } = this.#assistant;
    const all = await this.#services.host.tools.functions(workspaceId, toolIds);
    const front = this.#front?.tools ?? (this.#isSpoken ? [] : undefined);
    if (front !== undefined)
      this.#offered = [...all.filter(({ kind, approval }) => kind !== 'client' && approval === 'never'), ...front];
    else this.#offered = this.#session.channel === 'api' ? all : all.filter(({ kind }) => kind !== 'client');
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
    return misfitOfText(parameters, text);
  }

  makeId(): string {
    return this.#services.ids.make('call');
  }

  admit(offered: OfferedFunction): Promise<ToolError | null> {
    return this.#services.tools.admit(this.#assistant.workspaceId, offered);
  }

  noteUnsent(error: ToolError): void {
    this.#services.tools.noteUnsent(error);
  }

  /** Whether a call that was approved may be sent: its tool may be gone since it was asked for. */
  async admitsAgain(name: string): Promise<ToolError | null> {
    await this.load();
    const offered = this.find(name);
    if (offered !== null) return this.admit(offered);
    this.noteUnsent('unknown_tool');
    return 'unknown_tool';
  }

  call(
    offered: OfferedFunction,
    callId: string,
    given: Readonly<Record<string, unknown>>,
    turnId: string,
    signal: AbortSignal,
    stands: () => Promise<boolean>,
  ): Promise<ToolResult> {
    const { workspaceId, id: sessionId, assistantId, channel } = this.#session;
    const context: CallContext = { workspaceId, assistantId, sessionId, turnId, channel, ...personOf(this.#session) };
    return this.#services.tools.call(offered, { callId, arguments: given, context, stands }, signal);
  }
}

/**
 * The person of a conversation, as a tool learns of them: known by the backend that opened the session, or on the
 * public link only claimed (contract 13).
 */
const personOf = ({ channel, visitor, metadata }: Session): Pick<CallContext, 'visitor' | 'metadata' | 'claimed'> =>
  isVisitorChannel(channel) ? { visitor: {}, metadata: {}, claimed: { visitor, metadata } } : { visitor, metadata };
