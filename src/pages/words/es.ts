import type { Words } from '../words.ts';

export const words: Words = {
  conversation: 'Conversación',
  needsScript: 'Esta página necesita JavaScript.',
  unknownTitle: 'Aquí no hay nada.',
  unknownText: 'Puede que la dirección esté mal escrita, o que la conversación ya no se ofrezca.',

  you: 'Usted',
  message: 'Su mensaje',
  send: 'Enviar',
  stop: 'Detener la respuesta',
  close: 'Cerrar',
  cancel: 'Cancelar',
  newConversation: 'Conversación nueva',
  newConversationAsk: '¿Empezar una conversación nueva? Esta no se podrá volver a abrir.',
  latest: 'Último mensaje',
  replying: '{name} está respondiendo …',

  empty: 'Escriba un mensaje para empezar.',
  tooLong: 'Sobran {count} caracteres.',

  sending: 'Enviando …',
  tryAgain: 'Intentar otra vez',
  stopped: 'Usted detuvo esta respuesta.',
  cut: 'Esta respuesta se interrumpió.',

  offline: 'Sin conexión. La conversación continuará cuando vuelva.',
  waiting: 'Hay mucha gente. Su mensaje saldrá a las {time}.',
  limited: 'No se admiten más mensajes por ahora. Inténtelo de nuevo a las {time}.',
  over: 'Esta conversación ha terminado.',
  closed: 'No hay nadie disponible en este momento.',
  gone: 'Esta conversación ya no se ofrece.',
  siteNotPermitted: 'Este sitio no puede mostrar la conversación.',
  unavailable: 'No hay respuesta en este momento. Inténtelo más tarde.',
  failed: 'Algo salió mal. Inténtelo otra vez.',
  reference: 'Referencia: {id}',

  copy: 'Copiar',
  copied: 'Copiado',
  readAloud: 'Leer en voz alta',
  stopReading: 'Dejar de leer',
  listen: 'Dictar su mensaje',
  call: 'Llamar',
  stopListening: 'Dejar de escuchar',
  noMicrophone: 'No se puede usar el micrófono. Permítalo en el navegador.',
  noVoice: 'La voz no está disponible en este momento.',
};
