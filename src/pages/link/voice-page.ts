/** The page as the code of voice and calls sees it. */
import type { Link } from '../../client/types.ts';
import type { Language, Words } from '../words.ts';
import type { Chat } from './chat.ts';
import type { Composer } from './composer.ts';
import type { Fields } from './fields.ts';

export interface VoicePage {
  readonly options: { readonly link: Link; readonly words: Words; readonly language: Language; chat(): Chat };
  readonly element: HTMLElement;
  readonly composer: Composer;
  readonly fields: Fields | null;
  readonly announcer: { say(text: string): void };
  /** Takes the messages in place of the chat. */
  typed: ((text: string) => void) | null;
  changed(): void;
  returned(text: string, field: null): void;
}
