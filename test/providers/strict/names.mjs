/** Providers that have a strict mode (`modes.ts`). */
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

/**
 * Providers at which the tests of tools run with each run of the tests, one of each dialect: ids of calls begin anew in
 * each answer at the one, and signed thoughts stand before the calls of the other. A file runs at one of them. Every rule
 * of all providers is met by `test/api/strict-providers.test.ts`. `PARLEY_TEST_PROVIDERS=all` runs each file at all.
 */
export const oftenStrict = /** @type {const} */ (['Kimi', 'Anthropic']);
