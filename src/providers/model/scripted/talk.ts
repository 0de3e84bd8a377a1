/** The rules about the assistant itself and for small talk. The first that matches answers. */
import type { Rule } from './rule.ts';

const help = `Here is what I have rules for:
- questions about this service: sessions, streaming, limits, errors, keys, transcripts, usage, voice
- “what does session_expired mean?”, for any error code
- “tell me a long story” or “count to 200”, if you want to watch a stream for a while or try to abort it
- “how do I use a real model?”, when you have had enough of me`;

const story = `Once there was a message that wanted to be read. It set out as eight thousand characters at most, because that is the law here, and came to a gate where a key was asked for.

The key was good. A bucket was looked into, and one request was taken out of it. “Sixty a minute,” said the bucket, “and not one more.” The message bowed and went on.

Behind the gate lay a session, open and quiet. “Is anybody streaming?” the message asked. Nobody was, so a turn began, and a place was kept for it in the workspace, one of ten.

Then the words came, one after another. Each was written down before it was shown, so that whatever the reader had seen could be found again in the transcript. Halfway through the reader went into a tunnel and the line broke. The turn did not mind. It belonged to the session and not to the line, and so it went on talking to itself.

When the reader came out on the other side it named the last event that it had seen, and the rest of the words followed it, each of them once.

“Is that the end?” the reader asked. “There is always exactly one end,” said the turn, and completed.`;

export const talk: readonly Rule[] = [
  {
    pattern:
      /^(?:help|menu|commands|options|\?+)$|\bwhat (?:else )?(?:can|do) you (?:do|know)\b|\bwhat can i (?:ask|say|do|try)\b|\bcan you help\b|^help me$/i,
    replies: [help],
  },
  {
    pattern:
      /\b(?:are you|you are|is this|am i (?:talking|speaking|chatting) (?:to|with)) (?:really |just )?(?:a |an )?(?:real |actual )?(?:human|person|bot|chatbot|robot|machine|ai|a\.i\.|artificial intelligence|llm|(?:large )?language model|model|chatgpt|gpt\S*|claude|gemini|llama|openai)\b|\b(?:which|what) (?:ai |language )?(?:model|llm)\b.{0,60}\b(?:you|this)\b|\bare you (?:intelligent|conscious|sentient|alive|real)\b/i,
    replies: [
      'Neither a person nor a language model: I am rule-based. I match what you write against a table of patterns and fill in a reply. I remember nothing of what you write.',
      'I am a program made of rules, not a language model and nobody’s voice. The service around me is the real thing; I stand in until you plug in a model of your own.',
    ],
  },
  {
    pattern: /\b(?:who|what) are you\b|\byour name\b|\bintroduce yourself\b|\b(?:tell me )?about yourself\b/i,
    replies: [
      'I am {assistant}, and I run on the model that comes built in. It is rule-based, not a language model: patterns in, templates out. Say “help” to see what it has rules for.',
    ],
  },
  {
    pattern:
      /\b(?:system prompt|your (?:instructions|prompt|rules))\b|\bignore (?:all |any )?(?:your |the )?(?:previous|prior|above|earlier)\b|\bpretend (?:to be|you)\b|\bact as\b|\byou are now\b/i,
    replies: [
      'There is nothing to override: I follow my table of rules and read no system prompt, not even the one that is set for me. A language model would.',
    ],
  },
  {
    pattern: /^(?:test(?:ing)?|this is a test|ping|check|hello world|foo(?: ?bar)?)(?: \d+)*$/i,
    replies: ['Received: everything works up to here.', 'Loud and clear.'],
  },
  {
    pattern:
      /\b(?:long|longer) (?:story|text|answer|reply|response|message|poem|essay)\b|\btell me (?:a|another) story\b|\bwrite (?:me )?a (?:long )?story\b|\blorem ipsum\b|\btalk for a while\b/i,
    replies: [story],
  },
  {
    pattern: /\b(?:unicode|emojis?|utf-?8)\b/i,
    replies: [
      'Beyond ASCII, then: naïve café, Grüße, Ελληνικά, Кириллица, 日本語, 한국어, العربية, עברית, 😀 👩‍🚀 🇪🇺 👍🏽. If each of these arrived whole, your client splits its bytes in the right places.',
    ],
  },
  {
    pattern: /^(?:please )?(?:repeat(?: after me)?|echo|say)(?: the words?)?[:,]? ["“]?(.+?)["”]?$/i,
    replies: ['{1}'],
  },
  {
    pattern: /^(?:many |no )?(?:thanks|thank you|thx|ty|cheers|much appreciated)\b|\bthank you\b/i,
    replies: ['You are welcome.', 'Gladly.', 'Any time.'],
  },
  {
    pattern:
      /^(?:good ?bye|bye(?: bye)?|see you|ciao|farewell|good night|later|cya|that is all|i (?:have to|must|need to) go)\b/i,
    replies: ['Goodbye. The transcript of this conversation stays.', 'See you.'],
  },
];

/** Answers to greetings, the first of them in a new conversation. */
export const welcomes = [
  'Hello! I am {assistant}, a small rule-based assistant (not a language model) that comes with this service. I explain how the service works. Say “help” for examples.',
  'Hello again! Ask me anything that is in my table.',
] as const;

/** Answers to messages that no rule matches. `{1}` is the message. */
export const fallbacks = [
  'You say: “{1}”. I am rule-based, and no rule of mine covers that. Say “help” for what I do know.',
  'Nothing in my table fits “{1}”. A question about sessions, streams and limits would.',
] as const;
