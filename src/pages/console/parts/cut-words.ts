/** The words for what cut a reply that was spoken. */
export const cutWords = {
  speech: 'interrupted by speech',
  client: 'interrupted by the caller',
  api: 'aborted',
  lost: 'the call was lost',
} as const;
