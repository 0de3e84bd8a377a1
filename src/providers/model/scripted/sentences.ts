/** From a message to sentences that rules can be matched against. */

const sentenceCharactersMax = 400;
const sentencesMax = 8;

const contractions: readonly (readonly [RegExp, string])[] = [
  [/[‘’]/g, "'"],
  [/\b(what|who|where|how|that|it)'s\b/gi, '$1 is'],
  [/\bI'm\b/gi, 'I am'],
  [/\b(do|does|did|is|are)n't\b/gi, '$1 not'],
  [/\s+/g, ' '],
];

/** Sentences end at a full stop or a line break, and before a second clause about the speaker: "I am Ada and I like tea". */
const boundary = /(?<=[.!?])\s+|\n+|,? and (?=(?:I|i|my|My) )/;

/** A greeting at the head of a sentence counts as a separate sentence. */
const greetingHead = /^((?:hi|hello|hey|good (?:morning|afternoon|evening|day))(?: there| again)?)[,!. ]+(?=\S)/i;

const asking = /^(?:what|who|where|when|which|why|how|can|could|do(?! not)|does|did|is|are|will|would|tell me)\b/i;

export interface Sentence {
  /** The text that rules are matched against; a question ends in a question mark. */
  readonly text: string;
  readonly question: boolean;
}

/** The sentences of a message, the first few of them, each cut to a bound: no pattern ever sees a long text. */
export function messageSentences(message: string): Sentence[] {
  const sentences: Sentence[] = [];
  for (const part of message.slice(0, sentenceCharactersMax * sentencesMax).split(boundary)) {
    let rest = part.trim().slice(0, sentenceCharactersMax);
    const greeting = greetingHead.exec(rest);
    if (greeting !== null) {
      sentences.push({ text: greeting[1]!, question: false });
      rest = rest.slice(greeting[0].length);
    }
    const text = plain(rest);
    if (text !== '') sentences.push({ text, question: /\?[^?\w]*$/.test(rest) || asking.test(text) });
  }
  return sentences.slice(0, sentencesMax);
}

function plain(text: string): string {
  let spelled = text;
  for (const [pattern, replacement] of contractions) spelled = spelled.replace(pattern, replacement);
  return spelled.trim().replace(/(?<![.!?,;: ])[.!?,;: ]+$/, '');
}
