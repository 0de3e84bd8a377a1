/** The rules about the assistant and the service, and for small talk. The first that matches answers. */
export interface Rule {
  /** Matched against one sentence: white space single, contractions spelled out, no closing punctuation. */
  readonly pattern: RegExp;
  /** Used in turn. `{assistant}` is the assistant's name, `{name}` the user's after a comma, `{1}` the first capture. */
  readonly replies: readonly string[];
}

const help = `Here is what I have rules for:
- remembering what you tell me: “my name is Ada”, “I like tea”, then “what do you know about me?”
- “what did I just say?”, which shows that a session keeps its messages
- “tell me a long story” or “count to 100”, if you want to watch a stream for a while or try to abort it
- “/call NAME {…}”, which calls a tool of this assistant
- “how do I use a real model?”, when you have had enough of me

Questions about the service itself are answered at /docs.`;

const story = `Once there was a message that wanted to be read. It set out as eight thousand characters at most, because that is the law here, and came to a gate where a key was asked for.

The key was good. A bucket was looked into, and one request was taken out of it. “Sixty a minute,” said the bucket, “and not one more.” The message bowed and went on.

Behind the gate lay a session, open and quiet. “Is anybody streaming?” the message asked. Nobody was, so a turn began, and a place was kept for it in the workspace, one of ten.

Then the words came, one after another. Each was written down before it was shown, so that whatever the reader had seen could be found again in the transcript. Halfway through the reader went into a tunnel and the line broke. The turn did not mind. It belonged to the session and not to the line, and so it went on talking to itself.

When the reader came out on the other side it named the last event that it had seen, and the rest of the words followed it, each of them once.

“Is that the end?” the reader asked. “There is always exactly one end,” said the turn, and completed.`;

const realModel = `To put a real model in my place:
1. \`npx parley credentials create --provider openai --base-url URL\` asks for an API key and stores it encrypted. The base URL of any OpenAI-compatible endpoint will do, its /v1 included; leave it out for OpenAI itself, or take the provider \`anthropic\`.
2. \`npx parley assistants update demo --provider openai --model NAME --credential crd_…\` with the id that it printed; \`--system-prompt\` says what the model is told first.
3. \`npx parley assistants publish demo\`.
A model server on your own machine or network also needs PARLEY_ALLOW_PRIVATE_PROVIDERS=1.`;

export const rules: readonly Rule[] = [
  { pattern: /^(?:help|menu|commands)$|\bwhat (?:else )?can (?:you do|i (?:ask|say|do|try))\b/i, replies: [help] },
  {
    pattern:
      /\b(?:real|own|another|different|other|better) (?:ai |language )?(?:models?|llms?|providers?)\b|\b(?:use|connect|plug in|switch to) (?:openai|chatgpt|gpt\S*|claude|anthropic|ollama|llama\S*|mistral|gemini|vllm)\b|\breplace you\b/i,
    replies: [realModel],
  },
  {
    pattern:
      /\b(?:system prompt|your (?:instructions|prompt|rules))\b|\bignore (?:all |any )?(?:your |the )?previous\b/i,
    replies: [
      'There is nothing to override: I follow my table of rules and read no system prompt, not even the one that is set for me. A language model would.',
    ],
  },
  {
    pattern:
      /\b(?:are you|is this|am i talking to) (?:really )?(?:a |an )?(?:real|human|person|bot|chatbot|robot|machine|ai|llm|language model|chatgpt|gpt\S*|claude|gemini)\b|\b(?:which|what) (?:ai |language )?(?:model|llm) (?:are you|is this)\b|\b(?:who|what) are you\b|\byour name\b|\babout yourself\b|\bhow do you work\b/i,
    replies: [
      'I am {assistant}, and I run on the model that comes built in. It is rule-based, not a language model: patterns in, templates out. Say “help” to see what it has rules for.',
    ],
  },
  { pattern: /\b(?:long|longer) (?:story|text|answer|reply|message|poem)\b|\btell me a story\b/i, replies: [story] },
  { pattern: /^(?:please )?(?:repeat|echo|say)(?: after me)?[:,]? (.+)$/i, replies: ['{1}'] },
  {
    pattern: /^how are you\b|\bhow (?:is it|are things) going\b/i,
    replies: ['All my rules are in their places, thank you{name}. And how are you?'],
  },
  { pattern: /^(?:many )?(?:thanks|thank you|cheers)\b/i, replies: ['You are welcome{name}.', 'Gladly{name}.'] },
  { pattern: /^(?:good ?bye|bye|see you|good night)\b/i, replies: ['Goodbye{name}.', 'See you{name}.'] },
];

/** Words of questions about the service around the assistant, and their reply where no rule matches. */
export const service =
  /\b(?:api|curl|docs|documentation|parley|session|sessions|stream|streaming|transcript|usage|limits?|keys?|errors?|webhooks?|widget|voice|console)\b|^(?:how do|where (?:do|should)) i (?:start|begin)\b/i;
export const serviceReply =
  'That is about the service around me. `/docs` describes every operation with an example, and `npx parley --help` every command.';

/** Last resorts, for a question and for anything else. `{1}` is the user's text. */
export const unknownQuestion = [
  'You ask: “{1}” I am rule-based, and no rule of mine covers that. Say “help” for what I do know.',
  'I cannot answer “{1}”, and rather say so than invent something.',
];
export const unknownStatement = [
  'You say: “{1}”. I have no rule for that, but I am listening. Say “help” to see what I do have rules for.',
  'I see{name}. Tell me more, or say “help”.',
];
