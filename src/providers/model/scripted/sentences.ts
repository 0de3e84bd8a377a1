/** From a message to sentences that rules can be matched against, and from "my" to "your". */

const sentenceCharactersMax = 400;
const sentencesMax = 8;

const contractions: readonly (readonly [RegExp, string])[] = [
  [/[‘’]/g, "'"],
  [/\b(what|who|where|when|how|that|it|here|there)'s\b/gi, '$1 is'],
  [/\bI'm\b|\bim\b/gi, 'I am'],
  [/\b(you|we|they)'re\b/gi, '$1 are'],
  [/\b(I|you|we|they)'ve\b/gi, '$1 have'],
  [/\b(I|you|we|they)'d\b/gi, '$1 would'],
  [/\b(I|you|we|they)'ll\b/gi, '$1 will'],
  [/\bcan't\b/gi, 'cannot'],
  [/\b(do|does|did|is|are|have|has|would|could|should)n't\b/gi, '$1 not'],
  [/\s+/g, ' '],
];

/**
 * Sentences end at a full stop or a line break, and before a second clause about the speaker: "I am Ada and I like
 * tea".
 */
const boundary = /(?<=[.!?])\s+|\n+|,? (?:and|but) (?=(?:I|i|my|My) )/;

/** A greeting at the head of a sentence counts as a separate sentence. */
const greetingHead =
  /^((?:hi|hello|hey|good (?:morning|afternoon|evening|day)|greetings)(?: there| again)?)(?:[,!.]+ *| +(?=i am |my name|what |who |how |can ))(?=\S)/i;

export interface Sentence {
  /** The text that rules are matched against. */
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

const asking =
  /^(?:what|who|whose|where|when|which|why|how|can|could|do(?! not)|does|did|is|are|will|would|should|may|tell me|explain|describe|show)\b/i;

function plain(text: string): string {
  let spelled = text;
  for (const [pattern, replacement] of contractions) spelled = spelled.replace(pattern, replacement);
  return spelled.trim().replace(/(?<![.!?,;: ])[.!?,;: ]+$/, '');
}

const mirror: Readonly<Record<string, string>> = {
  'i am': 'you are',
  'am i': 'are you',
  'i was': 'you were',
  i: 'you',
  me: 'you',
  my: 'your',
  mine: 'yours',
  myself: 'yourself',
  'you are': 'I am',
  'are you': 'am I',
  'you were': 'I was',
  your: 'my',
  yours: 'mine',
  yourself: 'myself',
};

const object = /^(?:$|[^\w ]| (?:to|for|with|about|at|in|on|and|or|from|by|of|as|when|if)\b)/;

/** The phrase as the other side of the conversation says it: "my dog likes you" becomes "your dog likes me". */
export const reflect = (phrase: string): string =>
  phrase.replace(
    /\b(?:i am|am i|i was|you are|are you|you were|i|me|mine|myself|my|yourself|yours|your|you)\b/gi,
    (said, offset: number) => {
      const word = said.toLowerCase();
      // "You" is "me" where something is done to it: at the end, or before a word that cannot be its verb.
      if (word !== 'you') return mirror[word]!;
      return offset > 0 && object.test(phrase.slice(offset + word.length)) ? 'me' : 'I';
    },
  );

/** The sentence with its first letter in upper case. */
export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
