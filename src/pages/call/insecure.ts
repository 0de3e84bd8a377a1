/** The reason why there is no microphone on a page that came over plain HTTP, for calls and for dictation. */
import type { Language } from '../words.ts';

export const insecure: Readonly<Record<Language, string>> = {
  en: 'Browsers allow the microphone over HTTPS alone, and this page came over plain HTTP.',
  de: 'Browser erlauben das Mikrofon nur über HTTPS, und diese Seite kam über einfaches HTTP.',
  fr: 'Les navigateurs n’autorisent le micro qu’en HTTPS, et cette page est arrivée en simple HTTP.',
  es: 'Los navegadores solo permiten el micrófono por HTTPS, y esta página ha llegado por HTTP sin cifrar.',
  pt: 'Os navegadores só permitem o microfone por HTTPS, e esta página chegou por HTTP sem cifra.',
  ja: 'ブラウザーがマイクを許可するのは HTTPS のページだけですが、このページは HTTP で届きました。',
  ar: 'لا تسمح المتصفحات بالميكروفون إلا عبر HTTPS، وقد وصلت هذه الصفحة عبر HTTP غير مشفر.',
};
