/** The model of an assistant in one turn: its credential, its budget of history and its tools. */
import { limits } from '../base/limits.ts';
import { thenSync } from '../base/then-sync.ts';
import {
  estimateTokens,
  type ForcedToolCall,
  type ModelFailure,
  type ModelStream,
  type ModelMessage,
  type ModelRequest,
  type ModelSink,
  type ToolOffer,
} from '../providers/model.ts';
import {
  cutHistory,
  estimateOffers,
  estimateSent,
  modelMessages,
  type Cut,
  type PastMessage,
} from '../providers/model/history.ts';
import type { SpanStart } from '../base/tracing.ts';
import type { AnsweringAssistant } from '../host/versions.ts';
import type { AskedModel, FallbackModel, Message, Session } from '../store/store.ts';
import type { TurnSettings } from './additions.ts';
import { findCredential, openCredential } from './credential.ts';
import type { AssistantServices } from './services.ts';
import { promptFor } from './texts.ts';
import { AssistantTools, type TurnTools } from './tools.ts';

/** A model as a turn uses it. */
export interface TurnModel {
  /**
   * Prepares the request with the messages in order, the newest last; null if the model's credential or provider cannot
   * be used. `beganAt`: when the turn began, in Unix seconds.
   */
  prepare(conversation: readonly Message[], beganAt: number): PreparedRequest | null | Promise<PreparedRequest | null>;
  /**
   * Upper bound of the tokens of a turn of one request: the estimated input, and the most output. The arguments as of
   * `prepare`.
   */
  tokensMax(conversation: readonly PastMessage[], beganAt: number): number | Promise<number>;
  /** The tools that the last request offered. */
  readonly tools: TurnTools;
  /** The number of models that are left if the first one fails before any output. */
  readonly fallbacks: number;
  /** The model of the last request; null before the first. */
  readonly asked: AskedModel | null;
  /** Prepares the next model from now on. */
  next(): void;
  /** Notes that the model's answer has ended, or that it failed. */
  noteEnd(failure: ModelFailure | null): void;
}

/** A request to the model, ready to be sent. */
export interface PreparedRequest {
  /** The number of messages that exceed the budget and are not sent. */
  readonly leftOut: number;
  /** `rounds`: the turn's rounds so far, after the conversation; `offers`: whether tools are offered. */
  start(sink: ModelSink, rounds: readonly ModelMessage[], offers: boolean): ModelStream;
  /** The facts of the request for its span. */
  describe(): SpanStart;
}

export class AssistantModel implements TurnModel {
  readonly #assistant: AnsweringAssistant;
  readonly #session: Session;
  readonly #services: AssistantServices;
  readonly #settings: TurnSettings;
  #tools: AssistantTools | null = null;
  asked: AskedModel | null = null;
  /** The models in the order in which they are asked; null without fallbacks, and before the first request. */
  #order: readonly RankedModel[] | null = null;
  /** The place among them. */
  #at = 0;
  /** Whether the outcome of a fallback is counted. */
  #counted = false;

  constructor(assistant: AnsweringAssistant, session: Session, services: AssistantServices, settings: TurnSettings) {
    this.#assistant = assistant;
    this.#session = session;
    this.#services = services;
    this.#settings = settings;
  }

  /** Made on first use: most turns have none. */
  get tools(): AssistantTools {
    return (this.#tools ??= new AssistantTools(this.#assistant, this.#session, this.#services, this.#settings));
  }

  get fallbacks(): number {
    return this.#assistant.model.fallbacks?.length ?? 0;
  }

  next(): void {
    this.#at++;
    this.#counted = false;
  }

  noteEnd(failure: ModelFailure | null): void {
    const ranked = this.#order?.[this.#at];
    // A wish that the provider refuses is no failure of the model.
    if (ranked === undefined || failure === 'format' || failure === 'forced') return;
    this.#services.modelHealth.note(ranked.key, failure !== null);
    if (ranked.fallback === 0 || this.#counted) return;
    this.#counted = true;
    this.#services.metrics.modelFallbacks.inc({ outcome: failure === null ? 'answered' : 'failed' });
  }

  prepare(conversation: readonly Message[], beganAt: number): PreparedRequest | null | Promise<PreparedRequest | null> {
    const { model } = this.#assistant;
    if (this.#order !== null) {
      const ranked = this.#order[this.#at]!;
      return this.#prepare(ranked, ranked.fallback, conversation, beganAt);
    }
    if (this.fallbacks === 0) return this.#prepare(model, 0, conversation, beganAt);
    return this.#ranked([model, ...model.fallbacks!]).then((order) => {
      this.#order = order;
      return this.prepare(conversation, beganAt);
    });
  }

  /** The models in their order; those that are passed over come last. */
  async #ranked(models: readonly FallbackModel[]): Promise<RankedModel[]> {
    const { workspaceId } = this.#assistant;
    const ranked: RankedModel[] = [];
    for (const [fallback, { provider, name, credentialId }] of models.entries()) {
      const found = await findCredential(workspaceId, 'model', { provider, credentialId }, this.#services.host);
      ranked.push({ provider, name, credentialId, fallback, key: `${provider} ${found?.baseUrl ?? ''} ${name}` });
    }
    const { modelHealth } = this.#services;
    const isOut = new Set(ranked.filter(({ key }) => modelHealth.isPassedOver(key)));
    return [...ranked.filter((one) => !isOut.has(one)), ...isOut];
  }

  #prepare(
    { provider: providerName, name, credentialId }: FallbackModel,
    fallback: number,
    conversation: readonly Message[],
    beganAt: number,
  ): PreparedRequest | null | Promise<PreparedRequest | null> {
    const { workspaceId, name: assistantName, model } = this.#assistant;
    const { temperature, reasoning = 'hidden' } = model;
    const { additions } = this.#settings;
    this.asked = { provider: providerName, name, fallback };
    const systemPrompt = this.#promptOf(beganAt);
    const outputTokensMax = this.#outputTokensMax;
    const provider = this.#services.models.get(providerName);
    if (provider === undefined) return null;
    const credential = provider.needsCredential
      ? openCredential(workspaceId, 'model', { provider: providerName, credentialId }, this.#services)
      : noCredential;
    return thenSync(credential, (access) => {
      if (access === null) return null;
      const { baseUrl, apiKey } = access;
      const { messages, leftOut } = this.#messagesOf(conversation);
      const start = (sink: ModelSink, rounds: readonly ModelMessage[], offers: boolean) =>
        provider.start(
          {
            name,
            systemPrompt,
            messages: rounds.length === 0 ? messages : messages.concat(rounds),
            ...offered(this.#tools?.offers, offers, additions?.forced),
            format: additions?.format,
            temperature,
            outputTokensMax,
            reasoning,
            assistantName,
            baseUrl,
            apiKey,
          },
          sink,
        );
      const describe = (): SpanStart => ({
        kind: 'round',
        provider: providerName,
        model: name,
        outputTokensMax,
        temperature,
        address: hostOf(baseUrl ?? provider.defaultBaseUrl),
      });
      const prepared = { leftOut, start, describe };
      return thenSync(this.#loadTools(), () => prepared);
    });
  }

  tokensMax(conversation: readonly PastMessage[], beganAt: number): number | Promise<number> {
    const output = this.#outputTokensMax ?? limits.outputTokensReserved;
    const input = estimateTokens(this.#promptOf(beganAt) ?? '') + estimateSent(this.#messagesOf(conversation).messages);
    return thenSync(this.#loadTools(), () => input + estimateOffers(this.#tools?.offers ?? []) + output);
  }

  #promptOf(beganAt: number): string | null {
    const own = promptFor(this.#assistant, this.#session, beganAt);
    const { additions } = this.#settings;
    return additions === undefined ? own : joined(own, additions.prompt);
  }

  get #outputTokensMax(): number | null {
    return lowerOf(this.#assistant.model.outputTokensMax, this.#settings.additions?.outputTokensMax ?? null);
  }

  /** The part of the conversation that fits the assistant's budget of history. */
  #messagesOf(conversation: readonly PastMessage[]): Cut {
    const { additions } = this.#settings;
    return cutHistory(
      additions === undefined ? modelMessages(conversation) : additions.earlier.concat(modelMessages(conversation)),
      this.#assistant.model.historyTokensMax ?? limits.historyTokensMax,
    );
  }

  #loadTools(): Promise<void> | null {
    return hasTools(this.#assistant) || (this.#settings.additions?.tools.length ?? 0) > 0 ? this.tools.load() : null;
  }
}

/** A model with its place among the assistant's models, and its name for those that count failures. */
interface RankedModel extends FallbackModel {
  readonly fallback: number;
  readonly key: string;
}

const noOffers = {};

/** The assistant's functions, offered or closed: after the last round of tool calls the model may call none. */
function offered(
  offers: readonly ToolOffer[] | undefined,
  areOpen: boolean,
  forced: ForcedToolCall | undefined,
): Pick<ModelRequest, 'tools' | 'closedTools' | 'forced'> {
  if (offers === undefined) return noOffers;
  return areOpen ? { tools: offers, forced } : { closedTools: offers };
}

/** The assistant's prompt followed by the additional one. */
const joined = (own: string | null, added: string | null): string | null =>
  [own, added].filter((text) => text !== null && text !== '').join('\n\n') || null;

const lowerOf = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : Math.min(one, other);

/** The host of a provider's address; null for a provider within the process. */
const hostOf = (baseUrl: string | undefined): string | null =>
  baseUrl !== undefined && URL.canParse(baseUrl) ? new URL(baseUrl).hostname : null;

const hasTools = ({ toolIds, desk }: AnsweringAssistant): boolean =>
  (toolIds !== undefined && toolIds.length > 0) || desk?.enabled === true;

const noCredential = { baseUrl: null, apiKey: null };
