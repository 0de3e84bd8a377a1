/** The providers of which there is a strict mode (`modes.ts`). */
export const strictNames = /** @type {const} */ ([
  'OpenAI', 'Mistral', 'Gemini', 'Kimi', 'DeepSeek', 'vLLM', 'Groq', 'Cerebras', 'OpenRouter', 'Ollama', 'xAI', 'Bedrock', 'Anthropic', 'DeepSeek for Anthropic',
]);
