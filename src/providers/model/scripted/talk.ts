/** The rules about the assistant itself and for small talk. The first that matches answers. */
import type { Rule } from './rule.ts';

const help = `Here is what I have rules for:
- small talk, and sums such as “17 * 23” or “15% of 80”
- remembering what you tell me: “my name is Ada”, “I like tea”, then “what do you know about me?”
- questions about this service: sessions, streaming, limits, errors, keys, transcripts, usage, voice
- “tell me a long story”, if you want to watch a stream for a while or try to abort it
- “how do I use a real model?”, when you have had enough of me`;

const story = `Once there was a message that wanted to be read. It set out as eight thousand characters at most, because that is the law here, and came to a gate where a key was asked for.

The key was good. A bucket was looked into, and one request was taken out of it. “Sixty a minute,” said the bucket, “and not one more.” The message bowed and went on.

Behind the gate lay a session, open and quiet. “Is anybody streaming?” the message asked. Nobody was, so a turn began, and a place was kept for it in the workspace, one of ten.

Then the words came, one after another. Each was written down before it was shown, so that whatever the reader had seen could be found again in the transcript. Halfway through the reader went into a tunnel and the line broke. The turn did not mind. It belonged to the session and not to the line, and so it went on talking to itself.

When the reader came out on the other side it named the last event that it had seen, and the rest of the words followed it, each of them once.

“Is that the end?” the reader asked. “There is always exactly one end,” said the turn, and completed.`;

const real =
  'A language model can; I cannot, because I am a table of rules. To plug one in, ask me “how do I use a real model?”.';

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
      'Neither a person nor a language model: I am rule-based. I match what you write against a table of patterns and fill in a reply. I learn nothing beyond this conversation.',
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
      /\bhow (?:do|does|are) (?:you|this bot) (?:work|function|made|built|answer|think)\b|\bhow were you (?:made|built|trained)\b|\b(?:training data|were you trained)\b/i,
    replies: [
      'Each sentence of yours goes down a list: is it something to remember, a question about what you told me, a sum, a topic that I have a rule for? The first that fits answers. There is no training and no network behind it, which is why I answer quickly and know so little.',
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
    pattern: /\bwho (?:made|built|created|wrote|programmed|trained) you\b/i,
    replies: ['People who wanted this service to answer from its first minute, before a real model is plugged in.'],
  },
  {
    pattern:
      /^i (?:have|got) (?:a|another|one more|some) (?:questions?|problems?|requests?)$|^can i ask (?:you )?(?:something|a question)$/i,
    replies: ['Ask, and we shall see which of my rules fits{name}.'],
  },
  {
    pattern: /^(?:test(?:ing)?|this is a test|ping|check|hello world|foo(?: ?bar)?)(?: \d+)*$/i,
    replies: ['Received: everything works up to here{name}.', 'Loud and clear{name}.'],
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
    replies: ['{1!}'],
  },
  {
    pattern:
      /\bhow (?:are|do) you (?:doing|feel(?:ing)?|today|going)?\b|\bhow (?:is it|are things) going\b|^how are you\b|\bwhat is up\b/i,
    replies: [
      'All my rules are in their places, thank you{name}. And how are you?',
      'As well as a table of rules can be{name}. What brings you here?',
    ],
  },
  {
    pattern: /^(?:many |no )?(?:thanks|thank you|thx|ty|cheers|much appreciated)\b|\bthank you\b/i,
    replies: ['You are welcome{name}.', 'Gladly{name}.', 'Any time{name}.'],
  },
  {
    pattern:
      /^(?:good ?bye|bye(?: bye)?|see you|ciao|farewell|good night|later|cya|that is all|i (?:have to|must|need to) go)\b/i,
    replies: [
      'Goodbye{name}. The transcript of this conversation stays; what I remember of it does not leave the session.',
      'See you{name}.',
    ],
  },
  {
    pattern: /\bjokes?\b|\bmake me laugh\b|\bsomething funny\b/i,
    replies: [
      'A client opens two turns on one session. The second gets 409 and asks: “Was it something I said?” – “No. It is something I am saying.”',
      'Why did the rate limiter never go to parties? It had used up its allowance on arriving.',
      'There are two hard things about streams: ordering, exactly-once delivery, and ordering.',
    ],
  },
  {
    pattern: /\b(?:weather|forecast|temperature outside|raining|news|headlines|stock price|sports results?)\b/i,
    replies: ['I have no window and no connection to the world outside this conversation, so I cannot tell.'],
  },
  {
    pattern: /\b(?:what|which) (?:time|day|date|year|month)\b|\bwhat is the (?:time|date)\b|\btoday's date\b/i,
    replies: [
      'I have no clock on purpose: the same conversation always gets the same answers. The transcript has the time of every message.',
    ],
  },
  { pattern: /\b(?:meaning|purpose) of (?:life|it all)\b/i, replies: ['42, by a rule older than mine.'] },
  {
    pattern: /\bhow old are you\b|\byour (?:age|birthday)\b/i,
    replies: ['Exactly one conversation old{name}. I begin anew with every session.'],
  },
  {
    pattern: /\bwhere (?:are you|do you live|do you come from)\b/i,
    replies: ['Inside the server process that you are talking to. My whole world is a few pages of patterns.'],
  },
  {
    pattern:
      /\byour (?:favou?rite|opinion|hobby|hobbies)\b|\bdo you (?:like|love|enjoy|hate|want|dream|eat|sleep|feel)\b|\bwhat do you think\b/i,
    replies: ['A table of rules has no tastes{name}. I would rather hear yours: tell me “I like …” and ask me later.'],
  },
  {
    pattern:
      /\bi (?:love|like) you\b|\byou are (?:so |very |really |pretty )?(?:great|good|nice|cool|clever|smart|awesome|amazing|funny|helpful|cute|the best)\b|^(?:good bot|well done|nice|cool|great|awesome|wow|impressive|excellent|perfect)$/i,
    replies: ['That is kind{name}. I will pass it on to the rules.', 'Thank you{name}. It was all in the table.'],
  },
  {
    pattern:
      /\byou are (?:so |very |really |pretty )?(?:stupid|dumb|bad|useless|boring|wrong|terrible|an idiot|slow|limited)\b|\bi hate you\b|^(?:bad bot|wrong|useless|boring|stupid)$|\b(?:fuck|shit)\b/i,
    replies: [
      'I am rather limited, yes. Say “help” for what I can do, or ask “how do I use a real model?” to replace me.',
    ],
  },
  { pattern: /^(?:i am )?(?:so |very )?sorry\b|\bmy (?:mistake|bad)\b/i, replies: ['No harm done{name}.'] },
  {
    pattern: /^(?:yes|yeah|yep|yup|sure|of course|right|exactly|indeed|correct|true)$/i,
    replies: ['Good{name}. Go on.', 'Then tell me more.'],
  },
  {
    pattern: /^(?:no|nope|nah|not really|never|wrong)$/i,
    replies: ['All right{name}. What would you like instead?', 'Then let us leave that. What else?'],
  },
  {
    pattern:
      /^(?:ok|okay|k|alright|all right|fine|i see|got it|understood|hm+|mhm+|aha|interesting|maybe|perhaps|i (?:do not|don't) know|idk)$/i,
    replies: [
      'Whenever you like{name}: a sum, a fact to remember, or a question about the service.',
      'I am listening.',
    ],
  },
  { pattern: /^(?:lol|haha+|hehe+|rofl|lmao|:-?\)|:D|😀|😂|😊)+$/i, replies: ['Glad that you are amused{name}.'] },
  {
    pattern: /^(?:why|why not|how so|how come|what|huh|pardon|what do you mean|and|so|really|seriously)$/i,
    replies: ['Because a rule said so; there is nothing deeper in me. Try asking in a whole sentence.'],
  },
  {
    pattern:
      /^(?:hola|bonjour|salut|ciao|hallo|guten (?:tag|morgen|abend)|servus|moin|ol[áa]|hej|ahoj|cześć|merhaba|привет|здравствуйте|你好|こんにちは|안녕하세요|नमस्ते|مرحبا|שלום)/i,
    replies: ['Hello{name}! I recognise the greeting, but I have rules for English only.'],
  },
  {
    pattern:
      /\bspeak (?:german|french|spanish|italian|chinese|japanese|english|other languages)\b|\bother languages\b/i,
    replies: ['English only, I am afraid: every rule was written in it.'],
  },
  {
    pattern:
      /\b(?:translate|summari[sz]e|rewrite|proofread|generate|draw|(?:write|compose) (?:me )?(?:a|an|some|the)|code (?:a|in)|search the|google|book a|order a|remind me)\b/i,
    replies: [real],
  },
  {
    pattern: /^i am (?:so )?(?:bored|tired|sad|unhappy|lonely|depressed|stressed|angry)\b/i,
    replies: [
      'I am sorry to hear that{name}. What happened?',
      'That does not sound good{name}. Do you want to tell me about it? I am a poor listener, being made of rules, but a patient one.',
    ],
  },
  {
    pattern:
      /^i am (?:fine|good|great|well|ok|okay|happy|doing (?:fine|well|good|great))\b|^(?:fine|good|great|well),? (?:thanks|thank you|and you)\b/i,
    replies: ['Good to hear{name}. What shall we do?'],
  },
];

/** Replies that reflect the user's words: the last resort, when no other rule fits. */
export const reflections: readonly Rule[] = [
  { pattern: /^i (?:feel|am feeling) (.+)/i, replies: ['What makes you feel {1}?', 'Since when have you felt {1}?'] },
  {
    pattern: /^i (?:want|would like|wish|need|have|hope) to (.+)/i,
    replies: ['What would it take to {1}?', 'What keeps you from it?'],
  },
  { pattern: /^i (?:want|would like|wish for|need) (.+)/i, replies: ['What would you do with {1}?'] },
  {
    pattern: /^i (?:think|believe|guess|suppose) (?:that )?(.+)/i,
    replies: ['What makes you think that {1}?', 'And what if it were otherwise, and it were not so that {1}?'],
  },
  { pattern: /^i (?:cannot|could not) (.+)/i, replies: ['What happens when you try to {1}?'] },
  { pattern: /^i am (.+)/i, replies: ['What is it like to be {1}?', 'Did you choose to be {1}?'] },
  {
    pattern: /^because (.+)/i,
    replies: ['Is that the only reason?', 'Would it be any different if it were not that {1}?'],
  },
  {
    pattern: /^(?:can|could|will|would) you (?:please )?(.+)/i,
    replies: [
      'I have no rule that lets me {1}. A language model might; “how do I use a real model?” tells you where to put one.',
    ],
  },
  {
    pattern: /^(?:please )?(?:tell me|explain|describe|show me)(?: more)? (?:about |to me )?(.+)/i,
    replies: ['I have no rule about {1}. I do know my way around this service: try “help”.'],
  },
  {
    pattern: /^(?:what|who) (?:is|are|was|were) (.+)/i,
    replies: [
      'I have no rule about {1}, and I will not make something up. What is it to you?',
      'Of {1} my table says nothing. Say “help” for what it does know.',
    ],
  },
  {
    pattern: /^why (?:is|are|do|does|did|would|should|was|were) (.+)/i,
    replies: ['A good question, and none of my rules knows the answer. What is your own guess?'],
  },
  {
    pattern: /^(?:should|must) i (.+)/i,
    replies: ['What speaks for it, and what against: that you {1}? The choice is yours; my table has none to offer.'],
  },
];

/** The last resort for a question, and for anything else. `{1}` is the user's text. */
export const lastForQuestions = [
  'You ask: “{1}?” I am rule-based, and no rule of mine covers that. Say “help” for what I do know.',
  'I cannot answer “{1}?”, and rather say so than invent something. What would you answer yourself?',
];
export const lastForStatements = [
  'You say: “{1}”. I have no rule for that, but I am listening. Say “help” to see what I do have rules for.',
  'I see{name}. Tell me more, or ask me about this service.',
  'Nothing in my table fits “{1}”. A sum, a fact about you or a question about sessions, streams and limits would.',
];
