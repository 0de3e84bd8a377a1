/** The words where a conversation waits for a visitor whom the site has signed in: beside the code that shows them. */
import type { Language } from '../words.ts';

export interface IdentityWords {
  readonly signIn: string;
  readonly refused: string;
}

export const identityWords: Readonly<Record<Language, IdentityWords>> = {
  en: {
    signIn: 'This conversation is for signed-in visitors. Please sign in on the website first.',
    refused: 'Your sign-in could not be confirmed. Please reload the page or sign in again.',
  },
  de: {
    signIn: 'Dieses Gespräch ist für angemeldete Besucher. Bitte melden Sie sich zuerst auf der Website an.',
    refused: 'Ihre Anmeldung ließ sich nicht bestätigen. Bitte laden Sie die Seite neu oder melden Sie sich wieder an.',
  },
  fr: {
    signIn: 'Cette conversation est réservée aux visiteurs connectés. Veuillez d’abord vous connecter sur le site.',
    refused: 'Votre connexion n’a pas pu être confirmée. Veuillez recharger la page ou vous reconnecter.',
  },
  es: {
    signIn: 'Esta conversación es para visitantes que han iniciado sesión. Inicie sesión primero en el sitio web.',
    refused: 'No se pudo confirmar su inicio de sesión. Recargue la página o vuelva a iniciar sesión.',
  },
  pt: {
    signIn: 'Esta conversa é para visitantes que iniciaram sessão. Inicie primeiro a sessão no site.',
    refused: 'Não foi possível confirmar a sua sessão. Recarregue a página ou inicie sessão novamente.',
  },
  ja: {
    signIn: 'この会話にはログインが必要です。先にウェブサイトでログインしてください。',
    refused: 'ログインを確認できませんでした。ページを再読み込みするか、もう一度ログインしてください。',
  },
  ar: {
    signIn: 'هذه المحادثة للزوار الذين سجّلوا الدخول. يرجى تسجيل الدخول في الموقع أولًا.',
    refused: 'تعذّر تأكيد تسجيل دخولك. يرجى إعادة تحميل الصفحة أو تسجيل الدخول من جديد.',
  },
};
