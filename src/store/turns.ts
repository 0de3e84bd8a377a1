/** The common part of the stores' turns. */
import type { Message, Turn } from '../store.ts';

/** The assistant's message of a turn in flight; its output is stored apart from it. */
export const streamingMessage = ({ id, messageId, createdAt }: Turn): Message => ({
  id: messageId,
  turnId: id,
  role: 'assistant',
  content: '',
  status: 'streaming',
  stopReason: null,
  errorCode: null,
  createdAt,
});
