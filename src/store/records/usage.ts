/** The counts of usage (contract 6). */

export interface UsageCounts {
  readonly sessions: number;
  readonly turns: number;
  readonly failedTurns: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly speechCharacters: number;
  readonly transcriptionSeconds: number;
  readonly toolCalls: number;
  readonly cachedInputTokens: number;
  readonly feedbackUp: number;
  readonly feedbackDown: number;
  readonly personMessages: number;
  readonly handovers: number;
}

/** Usage in one bucket: its first second, and the counts within both the bucket and the requested window. */
export interface UsageBucket extends UsageCounts {
  readonly start: number;
}
