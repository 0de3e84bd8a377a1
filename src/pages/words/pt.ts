import type { Words } from '../words.ts';

export const words: Words = {
  conversation: 'Conversa',
  needsScript: 'Esta página precisa de JavaScript.',
  unknownTitle: 'Não há nada aqui.',
  unknownText: 'O endereço pode estar errado, ou a conversa já não é oferecida.',

  you: 'Você',
  message: 'Sua mensagem',
  send: 'Enviar',
  stop: 'Parar a resposta',
  close: 'Fechar',
  cancel: 'Cancelar',
  newConversation: 'Nova conversa',
  newConversationAsk: 'Começar uma nova conversa? Esta não poderá ser aberta outra vez.',
  latest: 'Última mensagem',
  replying: '{name} está respondendo …',

  empty: 'Escreva uma mensagem para começar.',
  tooLong: '{count} caracteres a mais.',

  sending: 'Enviando …',
  tryAgain: 'Tentar de novo',
  stopped: 'Você parou esta resposta.',
  cut: 'Esta resposta foi interrompida.',

  offline: 'Sem conexão. A conversa continua quando ela voltar.',
  waiting: 'Há muita gente aqui. Sua mensagem será enviada às {time}.',
  limited: 'Não é possível enviar mais mensagens agora. Tente de novo às {time}.',
  over: 'Esta conversa terminou.',
  closed: 'Ninguém está disponível no momento.',
  gone: 'Esta conversa já não é oferecida.',
  siteNotPermitted: 'Este site não pode mostrar a conversa.',
  unavailable: 'Não há resposta no momento. Tente mais tarde.',
  failed: 'Algo deu errado. Tente de novo.',
  reference: 'Referência: {id}',

  copy: 'Copiar',
  copied: 'Copiado',
  readAloud: 'Ler em voz alta',
  stopReading: 'Parar de ler',
  listen: 'Ditar sua mensagem',
  call: 'Ligar',
  stopListening: 'Parar de ouvir',
  noMicrophone: 'Não é possível usar o microfone. Permita-o no navegador.',
  noVoice: 'A voz não está disponível no momento.',
};
