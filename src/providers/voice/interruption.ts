/**
 * Classifies words that a person says over a reply, by the rules of a call: meant for the assistant, a backchannel, or
 * an echo of the loudspeaker.
 */

/** Kind of a transcript: `counts` has a word that counts, `none` has no word. */
export type Interruption = 'counts' | 'backchannel' | 'echo' | 'none';

/** The reply during which an utterance began, or that ended at most 500 ms before. */
export interface SpokenReply {
  /** Text of the reply that was heard in the last five seconds. */
  readonly lately: string;
  /** Last sentence of the reply that was heard. */
  readonly lastSentence: string;
  /** Whether the utterance ends after the reply. */
  readonly outlasted: boolean;
}

/** Backchannels; optional spaces where a recogniser may write a hyphen, a full stop or a space. */
const backchannels = String.raw`uh ?huh|mm ?hmm|mhm|hmm|yeah|yep|yes|okay|o ?k|right|sure|al(?:l )?right|good|great|wow|really|oh|i see|got it`;
const wholly = new RegExp(`^(?:(?:${backchannels})(?: |$))+$`);

/** Minimum number of words of an echo. */
const echoWords = 2;

/** Classifies a transcript. `reply`: null for an utterance that began outside any reply. */
export function classifyInterruption(transcript: string, reply: SpokenReply | null): Interruption {
  const words = wordsOf(transcript);
  if (words.length === 0) return 'none';
  if (reply === null) return 'counts';
  const answers = reply.outlasted || /\?["'”’)*_\s]*$/u.test(reply.lastSentence);
  if (!answers && wholly.test(words.join(' '))) return 'backchannel';
  return words.length >= echoWords && isWithin(words, wordsOf(reply.lately)) ? 'echo' : 'counts';
}

/** Returns the words in lower case, without punctuation except apostrophes. */
const wordsOf = (text: string): string[] =>
  text
    .toLowerCase()
    .replace(/[’ʼ]/gu, "'")
    .match(/[\p{L}\p{N}]+(?:'[\p{L}\p{N}]+)*/gu) ?? [];

/** Whether all words occur among the others in this order; one other word makes the transcript count. */
function isWithin(words: readonly string[], others: readonly string[]): boolean {
  let matched = 0;
  for (const other of others) if (other === words[matched]) matched++;
  return matched === words.length;
}
