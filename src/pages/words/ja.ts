import type { Words } from '../words.ts';

export const words: Words = {
  conversation: '会話',
  needsScript: 'このページには JavaScript が必要です。',
  unknownTitle: 'ここには何もありません。',
  unknownText: 'アドレスが間違っているか、この会話の提供は終了しました。',

  you: 'あなた',
  message: 'メッセージ',
  send: '送信',
  stop: '返信を止める',
  close: '閉じる',
  cancel: 'キャンセル',
  newConversation: '新しい会話',
  newConversationAsk: '新しい会話を始めますか。この会話は二度と開けません。',
  latest: '最新のメッセージ',
  replying: '{name} が返信しています…',

  empty: 'メッセージを書いて始めてください。',
  tooLong: '{count} 文字超過しています。',

  sending: '送信中…',
  tryAgain: '再試行',
  stopped: 'この返信を止めました。',
  cut: 'この返信は途中で切れました。',

  offline: '接続がありません。接続が戻ると会話が続きます。',
  waiting: '混み合っています。メッセージは {time} に送信されます。',
  limited: '今はこれ以上送信できません。{time} にもう一度お試しください。',
  over: 'この会話は終了しました。',
  closed: '現在、対応できません。',
  gone: 'この会話の提供は終了しました。',
  siteNotPermitted: 'このサイトではこの会話を表示できません。',
  unavailable: '現在、返信できません。しばらくしてからお試しください。',
  failed: '問題が発生しました。もう一度お試しください。',
  reference: '照会番号: {id}',

  copy: 'コピー',
  copied: 'コピーしました',
  readAloud: '読み上げる',
  stopReading: '読み上げを止める',
  listen: '音声で入力',
  call: '通話',
  stopListening: '音声入力を終える',
  noMicrophone: 'マイクを使用できません。ブラウザーで許可してください。',
  noVoice: '現在、音声を使用できません。',
};
