/** The providers of which there is a strict mode (`modes.ts`). */
export const strictNames = /** @type {const} */ ([
  'OpenAI',
  'Mistral',
  'Gemini',
  'Kimi',
  'DeepSeek',
  'vLLM',
  'Groq',
  'Cerebras',
  'OpenRouter',
  'Ollama',
  'xAI',
  'Bedrock',
  'Anthropic',
  'DeepSeek for Anthropic',
]);

/** Providers at which the tests of tools run with each run of the tests. `PARLEY_TEST_PROVIDERS=all` takes all. */
export const oftenStrict = /** @type {const} */ (['Mistral', 'Gemini', 'Kimi', 'OpenRouter', 'Anthropic']);
