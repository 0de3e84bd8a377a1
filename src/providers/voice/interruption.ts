/** Whether the words of somebody who speaks over a reply are said to the assistant, by the rules of a call. */

/** `counts`: a word that counts is in it; `none`: there is no word. */
export type Interruption = 'counts' | 'backchannel' | 'echo' | 'none';

/** The reply that an utterance began in, or in the 500 ms after it. */
export interface SpokenReply {
  /** The part heard in the five seconds before. */
  readonly lately: string;
  /** The last sentence heard of it. */
  readonly lastSentence: string;
  /** Whether the utterance lasts longer than the reply. */
  readonly outlasted: boolean;
}

/** Words of which a recogniser writes a hyphen, a full stop or a space or does not. */
const backchannels = String.raw`uh ?huh|mm ?hmm|mhm|hmm|yeah|yep|yes|okay|o ?k|right|sure|al(?:l )?right|good|great|wow|really|oh|i see|got it`;
const wholly = new RegExp(`^(?:(?:${backchannels})(?: |$))+$`);

/** The least number of words that make an echo. */
const echoWords = 2;

/** `reply`: null for an utterance that began in none. */
export function classifyInterruption(transcript: string, reply: SpokenReply | null): Interruption {
  const words = wordsOf(transcript);
  if (words.length === 0) return 'none';
  if (reply === null) return 'counts';
  const answers = reply.outlasted || /\?["'”’)*_\s]*$/u.test(reply.lastSentence);
  if (!answers && wholly.test(words.join(' '))) return 'backchannel';
  return words.length >= echoWords && isWithin(words, wordsOf(reply.lately)) ? 'echo' : 'counts';
}

/** The words without case and punctuation, an apostrophe excepted. */
const wordsOf = (text: string): string[] =>
  text
    .toLowerCase()
    .replace(/[’ʼ]/gu, "'")
    .match(/[\p{L}\p{N}]+(?:'[\p{L}\p{N}]+)*/gu) ?? [];

/** Whether the words are among the others in their order: one that is not counts, and all with it. */
function isWithin(words: readonly string[], others: readonly string[]): boolean {
  let found = 0;
  for (const other of others) if (other === words[found]) found++;
  return found === words.length;
}
