import type { Words } from '../words.ts';

export const words: Words = {
  conversation: 'Conversation',
  needsScript: 'This page needs JavaScript.',
  unknownTitle: 'There is nothing here.',
  unknownText: 'The address may be misspelt, or the conversation is no longer offered.',

  you: 'You',
  message: 'Your message',
  send: 'Send',
  stop: 'Stop the reply',
  close: 'Close',
  cancel: 'Cancel',
  newConversation: 'New conversation',
  newConversationAsk: 'Begin a new conversation? This one cannot be opened again.',
  latest: 'Latest message',
  replying: '{name} is replying …',

  empty: 'Write a message to begin.',
  tooLong: '{count} characters too many.',

  sending: 'Sending …',
  tryAgain: 'Try again',
  stopped: 'You stopped this reply.',
  cut: 'This reply was cut off.',

  offline: 'No connection. The conversation goes on when it is back.',
  waiting: 'It is busy here. Your message goes out at {time}.',
  limited: 'No more messages for now. Please try again at {time}.',
  over: 'This conversation is over.',
  closed: 'Nobody is available here at the moment.',
  gone: 'This conversation is no longer offered.',
  siteNotPermitted: 'This site may not show the conversation.',
  unavailable: 'There is no reply at the moment. Please try again later.',
  failed: 'Something went wrong. Please try again.',
  reference: 'Reference: {id}',

  copy: 'Copy',
  copied: 'Copied',
  readAloud: 'Read aloud',
  stopReading: 'Stop reading',
  listen: 'Speak your message',
  call: 'Call',
  stopListening: 'Stop listening',
  noMicrophone: 'The microphone cannot be used. Please allow it in the browser.',
  noVoice: 'Voice is not available at the moment.',
};
