/**
 * The words of the form that is asked for first: beside the code that shows it, since most assistants ask for nothing.
 */
import type { Language } from '../words.ts';

export interface FieldWords {
  readonly beforehand: string;
  readonly optional: string;
  readonly required: string;
  readonly wrongEmail: string;
  readonly wrongNumber: string;
}

export const fieldWords: Readonly<Record<Language, FieldWords>> = {
  en: {
    beforehand: 'Before you begin',
    optional: 'optional',
    required: 'Please fill this in.',
    wrongEmail: 'Please enter an e-mail address.',
    wrongNumber: 'Please enter a number.',
  },
  de: {
    beforehand: 'Bevor Sie beginnen',
    optional: 'freiwillig',
    required: 'Bitte füllen Sie dieses Feld aus.',
    wrongEmail: 'Bitte geben Sie eine E-Mail-Adresse ein.',
    wrongNumber: 'Bitte geben Sie eine Zahl ein.',
  },
  fr: {
    beforehand: 'Avant de commencer',
    optional: 'facultatif',
    required: 'Veuillez remplir ce champ.',
    wrongEmail: 'Veuillez saisir une adresse e-mail.',
    wrongNumber: 'Veuillez saisir un nombre.',
  },
  es: {
    beforehand: 'Antes de empezar',
    optional: 'opcional',
    required: 'Rellene este campo.',
    wrongEmail: 'Escriba una dirección de correo electrónico.',
    wrongNumber: 'Escriba un número.',
  },
  pt: {
    beforehand: 'Antes de começar',
    optional: 'opcional',
    required: 'Preencha este campo.',
    wrongEmail: 'Escreva um endereço de e-mail.',
    wrongNumber: 'Escreva um número.',
  },
  ja: {
    beforehand: '始める前に',
    optional: '任意',
    required: '入力してください。',
    wrongEmail: 'メールアドレスを入力してください。',
    wrongNumber: '数字を入力してください。',
  },
  ar: {
    beforehand: 'قبل أن تبدأ',
    optional: 'اختياري',
    required: 'يرجى ملء هذا الحقل.',
    wrongEmail: 'يرجى إدخال عنوان بريد إلكتروني.',
    wrongNumber: 'يرجى إدخال رقم.',
  },
};
