/**
 * The words of a call, in each language: beside the code that shows them, which is loaded with the first call. `{name}`
 * and its like are placeholders.
 */
import type { Language } from '../words.ts';
import { insecure } from './insecure.ts';

export interface CallWords {
  /** The name of the bar, for screen readers. */
  readonly call: string;
  readonly opening: string;
  readonly listening: string;
  readonly hearing: string;
  readonly thinking: string;
  readonly held: string;
  readonly speaking: string;
  readonly paused: string;
  readonly busy: string;
  readonly lost: string;
  readonly muted: string;
  /** Text shown in place of a state while the microphone is away. */
  readonly unheard: string;
  readonly mute: string;
  readonly unmute: string;
  readonly type: string;
  readonly hangUp: string;
  readonly interrupt: string;
  readonly interrupted: string;
  readonly timeLeft: string;
  readonly headphones: string;
  readonly halfDuplex: string;
  readonly withHeadphones: string;
  readonly notUnderstood: string;
  readonly noReply: string;
  readonly noVoice: string;
  readonly busyNow: string;
  /** The words are stored for a person of the desk. */
  readonly accepted: string;
  readonly limited: string;
  readonly failed: string;
  readonly denied: string;
  readonly insecure: string;
  readonly noMicrophone: string;
  readonly silent: string;
  readonly unplugged: string;
  readonly away: string;
  readonly microphoneAway: string;
  readonly goOn: string;
  readonly replaced: string;
  readonly over: string;
  readonly cutOff: string;
}

const en: CallWords = {
  call: 'Call',
  opening: 'Connecting …',
  listening: 'Listening',
  hearing: 'Hearing you',
  thinking: 'Thinking',
  held: 'Waiting for you',
  speaking: 'Speaking',
  paused: 'Paused',
  busy: 'Another message is answered first',
  lost: 'Connection lost, trying again',
  muted: 'You are muted',
  unheard: 'You are not heard',
  mute: 'Mute',
  unmute: 'Unmute',
  type: 'Type',
  hangUp: 'Hang up',
  interrupt: 'Interrupt',
  interrupted: 'interrupted',
  timeLeft: '{seconds} s left',
  headphones: 'The reply comes back through the microphone. Please use headphones.',
  halfDuplex: 'Use headphones to speak over the reply.',
  withHeadphones: 'I have headphones',
  notUnderstood: 'That could not be understood.',
  noReply: 'There was no reply. Please say it again.',
  noVoice: 'Voice is not available at the moment.',
  busyNow: 'Your message was not taken: another one is answered.',
  accepted: 'A person will answer this in the conversation.',
  limited: 'No more for now. Please try again later.',
  failed: 'Something went wrong. Please say it again.',
  insecure: insecure.en,
  denied: 'The browser does not allow the microphone on this page. Allow it, and call again.',
  noMicrophone: 'No microphone can be used here.',
  silent: 'The microphone gives nothing. Is it switched off?',
  unplugged: 'The microphone is gone. Plug one in to go on.',
  away: 'The sound is interrupted.',
  microphoneAway: 'The microphone is interrupted: nobody hears you.',
  goOn: 'Go on',
  replaced: 'The call goes on in another window.',
  over: 'The time of this conversation is over.',
  cutOff: 'The connection was lost.',
};

const de: CallWords = {
  call: 'Anruf',
  opening: 'Wird verbunden …',
  listening: 'Hört zu',
  hearing: 'Hört Sie',
  thinking: 'Denkt nach',
  held: 'Wartet auf Sie',
  speaking: 'Spricht',
  paused: 'Hält inne',
  busy: 'Eine andere Nachricht wird zuerst beantwortet',
  lost: 'Verbindung verloren, neuer Versuch',
  muted: 'Sie sind stumm',
  unheard: 'Sie werden nicht gehört',
  mute: 'Stumm schalten',
  unmute: 'Stummschaltung aufheben',
  type: 'Tippen',
  hangUp: 'Auflegen',
  interrupt: 'Unterbrechen',
  interrupted: 'unterbrochen',
  timeLeft: 'noch {seconds} s',
  headphones: 'Die Antwort kommt durch das Mikrofon zurück. Bitte benutzen Sie Kopfhörer.',
  halfDuplex: 'Mit Kopfhörern können Sie in die Antwort hineinsprechen.',
  withHeadphones: 'Ich habe Kopfhörer',
  notUnderstood: 'Das war nicht zu verstehen.',
  noReply: 'Es kam keine Antwort. Bitte sagen Sie es noch einmal.',
  noVoice: 'Sprache ist im Moment nicht verfügbar.',
  busyNow: 'Ihre Nachricht wurde nicht angenommen: Eine andere wird beantwortet.',
  accepted: 'Darauf antwortet ein Mensch in der Unterhaltung.',
  limited: 'Im Moment geht nicht mehr. Bitte versuchen Sie es später wieder.',
  failed: 'Etwas ist schiefgegangen. Bitte sagen Sie es noch einmal.',
  insecure: insecure.de,
  denied: 'Der Browser erlaubt das Mikrofon auf dieser Seite nicht. Erlauben Sie es und rufen Sie noch einmal an.',
  noMicrophone: 'Hier lässt sich kein Mikrofon benutzen.',
  silent: 'Vom Mikrofon kommt nichts. Ist es ausgeschaltet?',
  unplugged: 'Das Mikrofon ist weg. Schließen Sie eines an, um weiterzusprechen.',
  away: 'Der Ton ist unterbrochen.',
  microphoneAway: 'Das Mikrofon ist unterbrochen: Niemand hört Sie.',
  goOn: 'Weiter',
  replaced: 'Der Anruf geht in einem anderen Fenster weiter.',
  over: 'Die Zeit für dieses Gespräch ist um.',
  cutOff: 'Die Verbindung ist abgerissen.',
};

const fr: CallWords = {
  call: 'Appel',
  opening: 'Connexion …',
  listening: 'À l’écoute',
  hearing: 'Vous entend',
  thinking: 'Réfléchit',
  held: 'Vous attend',
  speaking: 'Parle',
  paused: 'En pause',
  busy: 'Un autre message passe d’abord',
  lost: 'Connexion perdue, nouvel essai',
  muted: 'Votre micro est coupé',
  unheard: 'On ne vous entend pas',
  mute: 'Couper le micro',
  unmute: 'Rétablir le micro',
  type: 'Écrire',
  hangUp: 'Raccrocher',
  interrupt: 'Interrompre',
  interrupted: 'interrompu',
  timeLeft: 'encore {seconds} s',
  headphones: 'La réponse revient par le micro. Utilisez un casque, s’il vous plaît.',
  halfDuplex: 'Avec un casque, vous pouvez parler pendant la réponse.',
  withHeadphones: 'J’ai un casque',
  notUnderstood: 'Cela n’a pas été compris.',
  noReply: 'Pas de réponse. Veuillez le redire.',
  noVoice: 'La voix n’est pas disponible pour le moment.',
  busyNow: 'Votre message n’a pas été pris : un autre est en cours.',
  accepted: 'Une personne y répondra dans la conversation.',
  limited: 'Plus rien pour l’instant. Réessayez plus tard.',
  failed: 'Un problème est survenu. Veuillez le redire.',
  insecure: insecure.fr,
  denied: 'Le navigateur n’autorise pas le micro sur cette page. Autorisez-le, puis rappelez.',
  noMicrophone: 'Aucun micro n’est utilisable ici.',
  silent: 'Le micro ne donne rien. Est-il éteint ?',
  unplugged: 'Le micro a disparu. Branchez-en un pour continuer.',
  away: 'Le son est interrompu.',
  microphoneAway: 'Le micro est interrompu : personne ne vous entend.',
  goOn: 'Continuer',
  replaced: 'L’appel continue dans une autre fenêtre.',
  over: 'Le temps de cette conversation est écoulé.',
  cutOff: 'La connexion a été perdue.',
};

const es: CallWords = {
  call: 'Llamada',
  opening: 'Conectando …',
  listening: 'Escuchando',
  hearing: 'Le oye',
  thinking: 'Pensando',
  held: 'Le espera',
  speaking: 'Hablando',
  paused: 'En pausa',
  busy: 'Antes se responde a otro mensaje',
  lost: 'Conexión perdida, nuevo intento',
  muted: 'Su micrófono está silenciado',
  unheard: 'No se le oye',
  mute: 'Silenciar',
  unmute: 'Activar el micrófono',
  type: 'Escribir',
  hangUp: 'Colgar',
  interrupt: 'Interrumpir',
  interrupted: 'interrumpido',
  timeLeft: 'quedan {seconds} s',
  headphones: 'La respuesta vuelve por el micrófono. Use auriculares, por favor.',
  halfDuplex: 'Con auriculares puede hablar durante la respuesta.',
  withHeadphones: 'Tengo auriculares',
  notUnderstood: 'No se ha entendido.',
  noReply: 'No hubo respuesta. Dígalo otra vez, por favor.',
  noVoice: 'La voz no está disponible en este momento.',
  busyNow: 'Su mensaje no se ha aceptado: se responde a otro.',
  accepted: 'Una persona responderá en la conversación.',
  limited: 'No se puede más por ahora. Inténtelo más tarde.',
  failed: 'Algo ha fallado. Dígalo otra vez, por favor.',
  insecure: insecure.es,
  denied: 'El navegador no permite el micrófono en esta página. Permítalo y llame de nuevo.',
  noMicrophone: 'Aquí no se puede usar ningún micrófono.',
  silent: 'El micrófono no da nada. ¿Está apagado?',
  unplugged: 'El micrófono ya no está. Conecte uno para seguir.',
  away: 'El sonido está interrumpido.',
  microphoneAway: 'El micrófono está interrumpido: nadie le oye.',
  goOn: 'Seguir',
  replaced: 'La llamada sigue en otra ventana.',
  over: 'El tiempo de esta conversación ha terminado.',
  cutOff: 'Se ha perdido la conexión.',
};

const pt: CallWords = {
  call: 'Chamada',
  opening: 'A ligar …',
  listening: 'A ouvir',
  hearing: 'Está a ouvi-lo',
  thinking: 'A pensar',
  held: 'À sua espera',
  speaking: 'A falar',
  paused: 'Em pausa',
  busy: 'Outra mensagem é respondida primeiro',
  lost: 'Ligação perdida, nova tentativa',
  muted: 'O seu microfone está desligado',
  unheard: 'Ninguém o ouve',
  mute: 'Desligar o microfone',
  unmute: 'Ligar o microfone',
  type: 'Escrever',
  hangUp: 'Desligar',
  interrupt: 'Interromper',
  interrupted: 'interrompido',
  timeLeft: 'faltam {seconds} s',
  headphones: 'A resposta volta pelo microfone. Use auscultadores, por favor.',
  halfDuplex: 'Com auscultadores pode falar durante a resposta.',
  withHeadphones: 'Tenho auscultadores',
  notUnderstood: 'Não foi possível entender.',
  noReply: 'Não houve resposta. Diga outra vez, por favor.',
  noVoice: 'A voz não está disponível neste momento.',
  busyNow: 'A sua mensagem não foi aceite: outra está a ser respondida.',
  accepted: 'Uma pessoa responderá na conversa.',
  limited: 'Por agora não é possível mais. Tente mais tarde.',
  failed: 'Algo correu mal. Diga outra vez, por favor.',
  insecure: insecure.pt,
  denied: 'O navegador não permite o microfone nesta página. Permita-o e ligue de novo.',
  noMicrophone: 'Não é possível usar um microfone aqui.',
  silent: 'O microfone não dá nada. Está desligado?',
  unplugged: 'O microfone desapareceu. Ligue outro para continuar.',
  away: 'O som está interrompido.',
  microphoneAway: 'O microfone está interrompido: ninguém o ouve.',
  goOn: 'Continuar',
  replaced: 'A chamada continua noutra janela.',
  over: 'O tempo desta conversa terminou.',
  cutOff: 'A ligação perdeu-se.',
};

const ja: CallWords = {
  call: '通話',
  opening: '接続しています…',
  listening: '聞いています',
  hearing: 'お話を聞いています',
  thinking: '考えています',
  held: 'お待ちしています',
  speaking: '話しています',
  paused: '一時停止中',
  busy: '別のメッセージに先に返答しています',
  lost: '接続が切れました。再接続しています',
  muted: 'マイクはオフです',
  unheard: '声が届いていません',
  mute: 'マイクをオフにする',
  unmute: 'マイクをオンにする',
  type: '入力する',
  hangUp: '通話を終える',
  interrupt: '話をさえぎる',
  interrupted: '中断されました',
  timeLeft: '残り{seconds}秒',
  headphones: '返答の音声がマイクに入っています。ヘッドホンをお使いください。',
  halfDuplex: '返答中に話しかけるには、ヘッドホンをお使いください。',
  withHeadphones: 'ヘッドホンを使っています',
  notUnderstood: '聞き取れませんでした。',
  noReply: '返答がありませんでした。もう一度お話しください。',
  noVoice: '現在、音声は利用できません。',
  busyNow: 'メッセージは受け付けられませんでした。別のメッセージに返答中です。',
  accepted: '担当者が会話の中でお答えします。',
  limited: '今はこれ以上できません。後でもう一度お試しください。',
  failed: '問題が発生しました。もう一度お話しください。',
  insecure: insecure.ja,
  denied: 'ブラウザがこのページでのマイクの使用を許可していません。許可してから、もう一度通話してください。',
  noMicrophone: 'ここではマイクを使えません。',
  silent: 'マイクから音が入りません。オフになっていませんか。',
  unplugged: 'マイクが見つかりません。接続すると続けられます。',
  away: '音声が中断されています。',
  microphoneAway: 'マイクが中断されているため、声が届いていません。',
  goOn: '続ける',
  replaced: '通話は別のウィンドウで続いています。',
  over: 'この会話の時間が終わりました。',
  cutOff: '接続が切れました。',
};

const ar: CallWords = {
  call: 'مكالمة',
  opening: 'جارٍ الاتصال …',
  listening: 'يستمع',
  hearing: 'يسمعك',
  thinking: 'يفكر',
  held: 'ينتظرك',
  speaking: 'يتحدث',
  paused: 'متوقف مؤقتًا',
  busy: 'يُجاب عن رسالة أخرى أولًا',
  lost: 'انقطع الاتصال، محاولة جديدة',
  muted: 'الميكروفون مكتوم',
  unheard: 'لا أحد يسمعك',
  mute: 'كتم الميكروفون',
  unmute: 'إلغاء الكتم',
  type: 'الكتابة',
  hangUp: 'إنهاء المكالمة',
  interrupt: 'مقاطعة',
  interrupted: 'قوطع',
  timeLeft: 'بقي {seconds} ثانية',
  headphones: 'يعود الرد عبر الميكروفون. يُرجى استخدام سماعات الرأس.',
  halfDuplex: 'استخدم سماعات الرأس للتحدث أثناء الرد.',
  withHeadphones: 'لدي سماعات رأس',
  notUnderstood: 'تعذر فهم ذلك.',
  noReply: 'لم يأتِ رد. يُرجى قوله مرة أخرى.',
  noVoice: 'الصوت غير متاح الآن.',
  busyNow: 'لم تُقبل رسالتك: يُجاب عن رسالة أخرى.',
  accepted: 'سيرد عليك شخص في المحادثة.',
  limited: 'لا مزيد الآن. يُرجى المحاولة لاحقًا.',
  failed: 'حدث خطأ ما. يُرجى قوله مرة أخرى.',
  insecure: insecure.ar,
  denied: 'لا يسمح المتصفح بالميكروفون في هذه الصفحة. اسمح به ثم اتصل من جديد.',
  noMicrophone: 'لا يمكن استخدام أي ميكروفون هنا.',
  silent: 'لا يصل شيء من الميكروفون. هل هو مغلق؟',
  unplugged: 'اختفى الميكروفون. وصّل واحدًا للمتابعة.',
  away: 'انقطع الصوت.',
  microphoneAway: 'الميكروفون متوقف: لا أحد يسمعك.',
  goOn: 'متابعة',
  replaced: 'تستمر المكالمة في نافذة أخرى.',
  over: 'انتهى وقت هذه المحادثة.',
  cutOff: 'انقطع الاتصال.',
};

export const callWords: Readonly<Record<Language, CallWords>> = { en, de, fr, es, pt, ja, ar };
