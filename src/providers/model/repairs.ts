import type { WishRefused } from '../model.ts';

/**
 * The repairs of a request: what endpoints disagree on. The shape of a request is the set of its repairs, as bits: what
 * is left out of it, or said otherwise than at first. Among as many of them, a lower one is tried first.
 */
export const repairs = {
  /** No question for token counts: Mistral, among others, refuses the option. */
  usage: 1,
  /** Reasoning models refuse `max_tokens`, older servers do not know `max_completion_tokens`. */
  otherBound: 2,
  /** No answer stands first: the templates of many models want the user to begin. */
  greeting: 4,
  temperature: 8,
  /** No bound on the reply. */
  bound: 16,
  /** The system prompt is part of the user's first message: some models know no such role. */
  system: 32,
  /**
   * The tools of the history's calls are declared, though none may be called: gateways to Anthropic and Bedrock refuse
   * calls without them.
   */
  otherTools: 64,

  /** All ids of calls have nine letters and digits: Mistral, and the templates of its models, take no others. */
  ids: 128,
  /** Reasoning that is not known any more is a blank: Kimi and DeepSeek refuse answers without it. */
  thoughtStub: 256,
  /** No reasoning is sent back: Groq, Cerebras and Mistral refuse fields that they do not know. */
  noThoughts: 512,
  /** A call without the signature of its thought has the one that Gemini takes for calls of other models. */
  signatureStub: 1024,
  /** No unknown fields of calls and rounds are sent back. */
  noOpaque: 2048,
  /** The content beside calls is an empty text in place of null: Ollama and others refuse null. */
  emptyContent: 4096,
  /** The content beside calls is a sentence: gateways to Bedrock, and xAI, refuse null and an empty text. */
  wordContent: 8192,
  /** Descriptions of functions are cut at 1,024 characters, as OpenAI wants. */
  shortDescriptions: 16384,
  /**
   * A round without details of its reasoning has those that OpenRouter takes for calls of other models. They replace
   * signatures.
   */
  detailsStub: 32768,
  /** All names of functions begin with a letter. */
  names: 65536,
  /** No marks for the provider's cache, and texts in place of blocks of text: not every endpoint knows them. */
  noCache: 131072,
} as const;

const allRepairs = Object.values<number>(repairs).reduce((all, repair) => all | repair, 0);

/** The fields of a request's body, and the roles that templates refuse. */
export const bodyRepairs = 127;
/** A bound on the reply is one of two fields, or none. */
export const boundRepairs = repairs.otherBound | repairs.bound;
/** Repairs that servers with a template may ask for with a 500, or within a 200. */
export const anyStatusRepairs = repairs.greeting | repairs.system | (allRepairs & ~bodyRepairs);
/**
 * Repairs of messages that are tried together where a refusal names nothing: nothing that a provider may not know, or
 * all that one may want.
 */
export const guessedRepairs: readonly number[] = [
  repairs.ids | repairs.noThoughts | repairs.noOpaque | repairs.emptyContent | repairs.names,
  repairs.ids | repairs.thoughtStub | repairs.signatureStub | repairs.wordContent | repairs.names,
  repairs.ids | repairs.detailsStub | repairs.wordContent | repairs.names,
];

/** The shape with more repairs, without those that they replace. */
export function withRepairs(shape: number, more: number): number {
  let repairBits = shape | more;
  if (more & repairs.noThoughts) repairBits &= ~repairs.thoughtStub;
  else if (more & repairs.thoughtStub) repairBits &= ~repairs.noThoughts;
  if (repairBits & repairs.detailsStub) repairBits &= ~repairs.signatureStub;
  return repairBits & repairs.wordContent ? repairBits & ~repairs.emptyContent : repairBits;
}

const refusesField =
  /extra_forbidden|extra inputs are not permitted|\bunsupported\b|\bnot supported\b|\bunknown (?:field|name|parameter|argument|key)|\bunrecognized (?:field|request argument|key|parameter)|\badditional propert|\bunexpected (?:field|property|keyword|key)|\bnot allowed\b/i;
const isMissing =
  /\bmissing\b|\bmust be (?:passed|provided|included|present|non-?empty)|\brequired\b|(?:cannot|must not) be empty|\bis empty\b/i;
const wantsContent =
  /\bnon-?empty\b|\b(?:must not|cannot|can't) be (?:empty|blank)|\bcontent (?:field )?.{0,60}\bis empty\b|at least one (?:non-empty )?content|parts must not be empty/i;
const refusesNull =
  /\bcontent\b.{0,60}(?:\bnull\b|\bnone\b|<nil>|\bundefined\b|\bnonetype\b)|invalid message content type|(?:\bnull\b|\bnone\b).{0,40}\bcontent\b|\bcontent\b.{0,40}(?:must be|should be|expected)(?: a| of type)?(?: valid)? \W?string|(?:missing|required).{0,20}\bcontent\b|\bcontent\b.{0,20}(?:is required|field required)/i;

type Naming = readonly [repair: number, words: (errorText: string) => boolean];

const has =
  (words: RegExp) =>
  (errorText: string): boolean =>
    words.test(errorText);
const ofIds = /\btool[_ ]?(?:call|use)\W{0,2}[_ ]?ids?\b/i;
const wantsId =
  /\bmust be a-z|\balphanumeric\b|\blength (?:of )?9\b|\btoo long\b|\bmust be unique\b|\bduplicate\b|\bshould match pattern\b|\bnot repairBits\b/i;
/** The place of an id, as validators write it. */
const idsPlace = /\btool_(?:calls|use)(?:\[\d{1,3}\]|\.\d{1,3})?\.id\b/i;

/** A field of the reasoning, not of the effort that is put into it. */
const ofThoughts = /\breasoning(?:_content|_details)?\b(?!_)|\bthinking\b|content\[\]\.thinking/i;

/** OpenRouter wraps the error texts of Gemini. */
const ofDetails = /\breasoning[ _]details to be preserved\b/i;

const namings: readonly Naming[] = [
  [repairs.usage, has(/stream_options|include_usage/)],
  [repairs.temperature, has(/\btemperature\b/)],
  [boundRepairs, has(/\bmax_(?:completion_)?tokens\b/)],
  [
    repairs.greeting,
    has(
      /\balternat|\bmust (?:start|begin) with\b(?! an? (?:letter|alphabet))|\b(?:first|initial) (?:message|role|turn|content)\b/i,
    ),
  ],
  [
    repairs.otherTools,
    has(/`?\btools=|\btoolConfig\b|\bdefine tools\b|\b(?:without|requires?|missing) (?:the )?`?tools\b/i),
  ],
  [
    repairs.system,
    has(
      /\bsystem (?:role|message|prompt|instruction)s? (?:is |are )?not (?:supported|allowed|enabled)|\bonly user(?: and|,) assistant roles|\bdoes(?: not|n't) support (?:the )?system|\b(?:unsupported|unknown|invalid|unexpected) role\W{1,3}system|\bdeveloper instruction is not enabled/i,
    ),
  ],
  [repairs.ids, (errorText) => (ofIds.test(errorText) && wantsId.test(errorText)) || idsPlace.test(errorText)],
  [
    repairs.thoughtStub,
    (errorText) => ofThoughts.test(errorText) && !/signature/i.test(errorText) && isMissing.test(errorText),
  ],
  [
    repairs.noThoughts,
    (errorText) => ofThoughts.test(errorText) && !isMissing.test(errorText) && refusesField.test(errorText),
  ],
  [
    repairs.noThoughts | repairs.noOpaque,
    (errorText) =>
      /\bthinking\b/i.test(errorText) && /\binvalid\W{1,3}signature\b|\bcannot be modified\b/i.test(errorText),
  ],
  [repairs.signatureStub, (errorText) => /thought[_ ]?signature/i.test(errorText) && !ofDetails.test(errorText)],
  [repairs.detailsStub, has(ofDetails)],
  [
    repairs.noOpaque,
    has(
      /(?:corrupted|invalid|malformed).{0,20}thought.?signature|thought.?signature.{0,40}(?:corrupted|not valid|invalid)/i,
    ),
  ],
  [repairs.names, has(/\bnames?\b.{0,60}\b(?:start|begin)s? with an? (?:letter|alphabet)/i)],
  [repairs.shortDescriptions, has(/\bdescription\b.{0,40}(?:too long|maximum length|exceeds?\b|at most)/i)],
  [repairs.noCache, has(/\bcache[_ ]?control\b|\bsystem\b.{0,60}\b(?:must|should) be (?:a )?(?:valid )?\W?str/i)],
  [repairs.wordContent, has(wantsContent)],
  [repairs.emptyContent, (errorText) => !wantsContent.test(errorText) && refusesNull.test(errorText)],
];

/** The repairs that the words of a refusal ask for: both of the bound for either of its fields. */
export function repairsNamed(errorText: string): number {
  const of = (text: string): number => namings.reduce((all, [repair, words]) => (words(text) ? all | repair : all), 0);
  // A refusal that names the parameter in a field may mention valid parameters in its text.
  const parameter = /"param"\s*:\s*"([^"]{1,64})"/.exec(errorText)?.[1];
  const repairBits = (parameter === undefined ? 0 : of(parameter)) || of(errorText);
  return repairBits === 0 && refusesField.test(errorText) ? repairs.noOpaque : repairBits;
}

/** Refusals that have nothing to do with the request's shape: another one would be refused as well. */
const unrelated =
  /\binsufficient[_ ](?:account )?(?:quota|balance|funds|credit)|exceeded your current quota|\bbilling\b|credit balance|\bapi[_ -]?key\b|\bunauthorized\b|content (?:management )?policy|\bmoderation\b|\bflagged\b|model[_ ]not[_ ]repairBits|\bno such model\b|rate.?limit|\boverloaded\b|try again later|temporarily unavailable/i;

export const isUnrelated = (errorText: string): boolean => unrelated.test(errorText);

/** A model wrote a call that its provider could not read: the next answer may be better. */
export const isOutputFault = (errorText: string): boolean => /tool_use_failed|failed_generation/i.test(errorText);

/** A request, or a part of it, that a validator repeats behind its reason. */
const echo = /["']input["']\s*:/;
const ofFormat =
  /\bresponse[_ ]?(?:format|schema|mime[_ ]?type)\b|\bjson_(?:schema|object)\b|\boutput_(?:config|format)\b|\bstructured[ _]outputs?\b|\bjson[ _]mode\b/i;
const ofForced = /\btool[_ ]?choice\b|\bfunction_calling_config\b/i;

/** The caller's wish that a refusal names; null if it names none that the request has. */
export function wishNamed(
  errorText: string,
  { format, forced }: { readonly format?: unknown; readonly forced?: unknown },
): WishRefused | null {
  const reason = errorText.split(echo, 1)[0]!;
  if (format !== undefined && ofFormat.test(reason)) return 'format';
  return forced !== undefined && ofForced.test(reason) ? 'forced' : null;
}
