import type { Words } from '../words.ts';

export const words: Words = {
  conversation: 'Gespräch',
  needsScript: 'Diese Seite braucht JavaScript.',
  unknownTitle: 'Hier ist nichts.',
  unknownText: 'Die Adresse ist vielleicht falsch geschrieben, oder das Gespräch wird nicht mehr angeboten.',

  you: 'Sie',
  message: 'Ihre Nachricht',
  send: 'Senden',
  stop: 'Antwort anhalten',
  close: 'Schließen',
  cancel: 'Abbrechen',
  newConversation: 'Neues Gespräch',
  newConversationAsk: 'Ein neues Gespräch beginnen? Dieses lässt sich danach nicht mehr öffnen.',
  latest: 'Neueste Nachricht',
  replying: '{name} antwortet …',

  empty: 'Schreiben Sie eine Nachricht, um zu beginnen.',
  tooLong: '{count} Zeichen zu viel.',

  sending: 'Wird gesendet …',
  tryAgain: 'Erneut versuchen',
  stopped: 'Sie haben diese Antwort angehalten.',
  cut: 'Diese Antwort ist abgebrochen.',

  offline: 'Keine Verbindung. Das Gespräch geht weiter, sobald sie wieder da ist.',
  waiting: 'Hier ist gerade viel los. Ihre Nachricht wird um {time} gesendet.',
  limited: 'Im Moment sind keine weiteren Nachrichten möglich. Bitte versuchen Sie es um {time} wieder.',
  over: 'Dieses Gespräch ist beendet.',
  closed: 'Hier ist im Moment niemand erreichbar.',
  gone: 'Dieses Gespräch wird nicht mehr angeboten.',
  siteNotPermitted: 'Diese Website darf das Gespräch nicht zeigen.',
  unavailable: 'Im Moment kommt keine Antwort. Bitte versuchen Sie es später wieder.',
  failed: 'Etwas ist schiefgegangen. Bitte versuchen Sie es noch einmal.',
  reference: 'Kennung: {id}',

  copy: 'Kopieren',
  copied: 'Kopiert',
  readAloud: 'Vorlesen',
  stopReading: 'Vorlesen anhalten',
  listen: 'Nachricht sprechen',
  call: 'Anrufen',
  stopListening: 'Zuhören beenden',
  noMicrophone: 'Das Mikrofon ist nicht verfügbar. Bitte erlauben Sie es im Browser.',
  noVoice: 'Sprache ist im Moment nicht verfügbar.',
};
