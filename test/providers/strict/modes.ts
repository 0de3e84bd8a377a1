/** Strict providers: the rules by which each refuses a request, and the way in which it spells its calls. */
import {
  allOf,
  answeredCalls,
  anthropicMessages,
  anthropicSchemas,
  anthropicThoughts,
  bedrockContent,
  bedrockTools,
  cerebrasFields,
  contentWithoutCalls,
  deepseekReasoning,
  deepseekThoughts,
  geminiNames,
  geminiSignatures,
  geminiTurns,
  groqFields,
  kimiContent,
  kimiReasoning,
  kimiNames,
  kimiSchemas,
  kimiTemperature,
  mistralContent,
  mistralExtras,
  mistralIds,
  mistralOrder,
  ollamaContent,
  openaiSchemas,
  openrouterDetails,
  shortIds,
  templateIds,
  templateOrder,
  xaiContent,
  type Issued,
  type Rule,
} from './rules.ts';
import type { strictNames } from './names.mjs';

/** A call as a model makes it. */
export interface MadeCall {
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

/** A round's calls, with numbers that this provider gives to nothing else. */
export interface Round {
  readonly calls: readonly MadeCall[];
  readonly number: number;
  readonly issued: Issued;
}

export interface StrictMode {
  readonly kind: 'openai' | 'anthropic';
  readonly rule: Rule;
  /** The pieces of a round that ends in calls: deltas of OpenAI's dialect, or blocks of Anthropic's. */
  spell(round: Round): object[];
}

const hex = (number: number, length: number): string => number.toString(16).padStart(length, '0');

type Spelling = (call: MadeCall, index: number) => object;

const called = (name: string, given: string): object => ({ name, arguments: given });
/** One delta for each call. */
const spelled = ({ calls }: Round, spelling: Spelling, before: object[] = []): object[] => [
  ...before,
  ...calls.map((call, index) => ({ tool_calls: [spelling(call, index)] })),
];

/** Streams a call as OpenAI does: its name first, then its arguments in pieces. */
function inPieces(
  { calls, number }: Round,
  idOf: (number: number, index: number) => string,
  before: object[] = [],
): object[] {
  return [
    ...before,
    ...calls.flatMap(({ name, arguments: given }, index) => {
      const half = Math.ceil(given.length / 2);
      const first = { tool_calls: [{ index, id: idOf(number, index), type: 'function', function: called(name, '') }] };
      return [
        first,
        ...[given.slice(0, half), given.slice(half)].map((text) => ({
          tool_calls: [{ index, function: { arguments: text } }],
        })),
      ];
    }),
  ];
}

const openaiId = (number: number, index: number): string => `call_${hex(number, 12)}${hex(index, 12)}`;
const nineId = (number: number, index: number): string => `${hex(number, 6)}x${hex(index, 2)}`;
const thinking = (field: string): object[] => [{ [field]: 'Let me ' }, { [field]: 'see.' }];

function geminiCalls({ calls, number, issued }: Round): object[] {
  // All calls at one place, without ids, as its endpoint sends them.
  return [
    {
      tool_calls: calls.map(({ name, arguments: given }, index) => {
        const signature = `sig-${number}-${index}`;
        issued.signatures.add(signature);
        return {
          index: 0,
          id: '',
          type: 'function',
          function: called(name, given),
          extra_content: { google: { thought_signature: signature } },
        };
      }),
    },
  ];
}

function openrouterCalls(round: Round): object[] {
  const { number, issued } = round;
  const part = { type: 'reasoning.text', format: 'google-gemini-v1', index: 0 };
  const encrypted = { type: 'reasoning.encrypted', data: `data-${number}`, format: 'google-gemini-v1', index: 1 };
  issued.details.push([{ ...part, text: 'Let me see.', signature: `s-${number}` }, encrypted]);
  const deltas = [
    { ...part, text: 'Let me ' },
    { ...part, text: 'see.' },
    { ...part, text: '', signature: `s-${number}` },
    encrypted,
  ];
  return inPieces(
    round,
    (n, index) => `tool_${n}_${index}`,
    deltas.map((each) => ({ reasoning: (each as { text?: string }).text ?? '', reasoning_details: [each] })),
  );
}

/** Anthropic's blocks, behind a signed thought. */
function blocks({ calls, number, issued }: Round): object[] {
  const thought = { signature: `sig-${number}`, thinking: `I think of ${number}.` };
  const uses = calls.map(({ name, arguments: given }, index) => ({
    type: 'tool_use',
    id: `toolu_${hex(number, 8)}${hex(index, 4)}`,
    name,
    input: given,
  }));
  issued.thoughts.push({ ...thought, callIds: uses.map(({ id }) => id) });
  return [{ type: 'thinking', ...thought }, ...uses];
}

const openaiRules = allOf(answeredCalls, contentWithoutCalls, shortIds);

export type StrictName = (typeof strictNames)[number];

export const strictModes: Readonly<Record<StrictName, StrictMode>> = {
  OpenAI: { kind: 'openai', rule: allOf(openaiRules, openaiSchemas), spell: (round) => inPieces(round, openaiId) },
  Mistral: {
    kind: 'openai',
    rule: allOf(mistralExtras, mistralIds, mistralOrder, mistralContent, answeredCalls),
    spell: (round) =>
      spelled(round, ({ name, arguments: given }, index) => ({
        index,
        id: nineId(round.number, index),
        function: called(name, given),
      })),
  },
  Gemini: { kind: 'openai', rule: allOf(geminiNames, geminiTurns, geminiSignatures), spell: geminiCalls },
  // Ids of calls restart in each answer.
  Kimi: {
    kind: 'openai',
    rule: allOf(kimiNames, kimiSchemas, kimiTemperature, kimiReasoning, kimiContent, answeredCalls),
    spell: (round) =>
      inPieces(round, (_, index) => `functions.${round.calls[index]!.name}:${index}`, thinking('reasoning_content')),
  },
  DeepSeek: {
    kind: 'openai',
    rule: allOf(deepseekReasoning, answeredCalls, contentWithoutCalls),
    spell: (round) =>
      inPieces(round, (number, index) => `call_00_${hex(number, 20)}${index}`, thinking('reasoning_content')),
  },
  vLLM: {
    kind: 'openai',
    rule: allOf(templateIds, templateOrder, answeredCalls),
    spell: (round) => inPieces(round, (number, index) => `chatcmpl-tool-${hex(number, 24)}${hex(index, 8)}`),
  },
  Groq: {
    kind: 'openai',
    rule: allOf(groqFields, openaiRules),
    spell: (round) =>
      spelled(
        round,
        ({ name, arguments: given }, index) => ({
          index,
          id: `fc_${hex(round.number, 12)}${index}`,
          type: 'function',
          function: called(name, given),
        }),
        thinking('reasoning'),
      ),
  },
  Cerebras: {
    kind: 'openai',
    rule: allOf(cerebrasFields, answeredCalls),
    spell: (round) => inPieces(round, nineId, thinking('reasoning_content')),
  },
  OpenRouter: { kind: 'openai', rule: allOf(openrouterDetails, answeredCalls), spell: openrouterCalls },
  Ollama: {
    kind: 'openai',
    rule: allOf(ollamaContent, answeredCalls),
    spell: (round) =>
      spelled(round, ({ name, arguments: given }, index) => ({
        index,
        id: `call_${nineId(round.number, index)}`,
        type: 'function',
        function: called(name, given),
      })),
  },
  xAI: { kind: 'openai', rule: allOf(xaiContent, answeredCalls), spell: (round) => inPieces(round, openaiId) },
  Bedrock: {
    kind: 'openai',
    rule: allOf(bedrockContent, bedrockTools, answeredCalls),
    spell: (round) => inPieces(round, (number, index) => `tooluse_${hex(number, 16)}${index}`),
  },
  Anthropic: { kind: 'anthropic', rule: allOf(anthropicMessages, anthropicSchemas, anthropicThoughts), spell: blocks },
  'DeepSeek for Anthropic': {
    kind: 'anthropic',
    rule: allOf(deepseekThoughts, anthropicMessages),
    spell: (round) => blocks(round).slice(1),
  },
};
