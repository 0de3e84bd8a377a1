/**
 * The texts of the link's pages: one language for each file of the folder `words`. `{name}` and its like are
 * placeholders.
 */

export interface Words {
  readonly conversation: string;
  readonly needsScript: string;
  readonly unknownTitle: string;
  readonly unknownText: string;

  readonly you: string;
  readonly message: string;
  readonly send: string;
  readonly stop: string;
  readonly close: string;
  readonly cancel: string;
  readonly newConversation: string;
  readonly newConversationAsk: string;
  readonly latest: string;
  readonly replying: string;

  readonly empty: string;
  readonly tooLong: string;

  readonly sending: string;
  readonly tryAgain: string;
  readonly stopped: string;
  readonly cut: string;

  readonly offline: string;
  readonly waiting: string;
  readonly limited: string;
  readonly over: string;
  readonly closed: string;
  readonly gone: string;
  readonly siteNotPermitted: string;
  readonly unavailable: string;
  readonly failed: string;
  readonly reference: string;

  readonly copy: string;
  readonly copied: string;
  readonly rateUp: string;
  readonly rateDown: string;
  readonly readAloud: string;
  readonly stopReading: string;
  readonly listen: string;
  readonly call: string;
  readonly stopListening: string;
  readonly noMicrophone: string;
  readonly noVoice: string;
}

/** The languages available, the default first. */
export const languages = ['en', 'de', 'fr', 'es', 'pt', 'ja', 'ar'] as const;
export type Language = (typeof languages)[number];

export const directionOf = (language: Language): 'ltr' | 'rtl' => (language === 'ar' ? 'rtl' : 'ltr');

/** Returns the language of a BCP 47 tag; null for a language that we do not have. */
export function languageOf(tag: string): Language | null {
  const primary = tag.trim().toLowerCase().split('-')[0]!;
  return languages.find((language) => language === primary) ?? null;
}
