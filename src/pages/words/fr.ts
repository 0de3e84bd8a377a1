import type { Words } from '../words.ts';

export const words: Words = {
  conversation: 'Conversation',
  needsScript: 'Cette page a besoin de JavaScript.',
  unknownTitle: 'Il n’y a rien ici.',
  unknownText: 'L’adresse est peut-être mal écrite, ou la conversation n’est plus proposée.',

  you: 'Vous',
  message: 'Votre message',
  send: 'Envoyer',
  stop: 'Arrêter la réponse',
  close: 'Fermer',
  cancel: 'Annuler',
  newConversation: 'Nouvelle conversation',
  newConversationAsk: 'Commencer une nouvelle conversation ? Celle-ci ne pourra plus être rouverte.',
  latest: 'Dernier message',
  replying: '{name} répond …',

  empty: 'Écrivez un message pour commencer.',
  tooLong: '{count} caractères en trop.',

  sending: 'Envoi …',
  tryAgain: 'Réessayer',
  stopped: 'Vous avez arrêté cette réponse.',
  cut: 'Cette réponse a été interrompue.',

  offline: 'Pas de connexion. La conversation reprendra à son retour.',
  waiting: 'Il y a du monde ici. Votre message partira à {time}.',
  limited: 'Plus de messages pour le moment. Veuillez réessayer à {time}.',
  over: 'Cette conversation est terminée.',
  closed: 'Personne n’est disponible ici pour le moment.',
  gone: 'Cette conversation n’est plus proposée.',
  siteNotPermitted: 'Ce site n’a pas le droit d’afficher la conversation.',
  unavailable: 'Il n’y a pas de réponse pour le moment. Veuillez réessayer plus tard.',
  failed: 'Un problème est survenu. Veuillez réessayer.',
  reference: 'Référence : {id}',

  copy: 'Copier',
  copied: 'Copié',
  readAloud: 'Lire à voix haute',
  stopReading: 'Arrêter la lecture',
  listen: 'Dicter votre message',
  call: 'Appeler',
  stopListening: 'Arrêter l’écoute',
  noMicrophone: 'Le microphone n’est pas utilisable. Veuillez l’autoriser dans le navigateur.',
  noVoice: 'La voix n’est pas disponible pour le moment.',
};
