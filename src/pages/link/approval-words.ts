/** The words of what a visitor is to approve: beside the code that shows it, since most visitors never see either. */
import type { Language } from '../words.ts';

export interface ApprovalWords {
  readonly question: string;
  readonly approve: string;
  readonly decline: string;
  readonly note: string;
}

export const approvalWords: Readonly<Record<Language, ApprovalWords>> = {
  en: {
    question: '{name} asks for your approval:',
    approve: 'Approve',
    decline: 'Decline',
    note: 'A message declines it too.',
  },
  de: {
    question: '{name} bittet um Ihre Zustimmung:',
    approve: 'Zustimmen',
    decline: 'Ablehnen',
    note: 'Auch eine Nachricht lehnt es ab.',
  },
  fr: {
    question: '{name} demande votre accord :',
    approve: 'Accepter',
    decline: 'Refuser',
    note: 'Un message vaut aussi refus.',
  },
  es: {
    question: '{name} pide su aprobación:',
    approve: 'Aprobar',
    decline: 'Rechazar',
    note: 'Un mensaje también lo rechaza.',
  },
  pt: {
    question: '{name} pede a sua aprovação:',
    approve: 'Aprovar',
    decline: 'Recusar',
    note: 'Uma mensagem também o recusa.',
  },
  ja: {
    question: '{name}が承認を求めています。',
    approve: '承認する',
    decline: '拒否する',
    note: 'メッセージを送ると拒否したことになります。',
  },
  ar: { question: 'يطلب {name} موافقتك:', approve: 'موافقة', decline: 'رفض', note: 'إرسال رسالة يعني الرفض أيضًا.' },
};
