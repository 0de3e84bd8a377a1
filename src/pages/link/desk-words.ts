/** The words of the way to a person: beside the code that shows it, since most visitors never see either. */
import type { Language } from '../words.ts';

export interface DeskWords {
  readonly ask: string;
  readonly waiting: string;
  readonly answering: string;
}

export const deskWords: Readonly<Record<Language, DeskWords>> = {
  en: { ask: 'Talk to a person', waiting: 'Waiting for a person…', answering: '{name} is answering you.' },
  de: {
    ask: 'Mit einem Menschen sprechen',
    waiting: 'Ein Mensch wird gesucht …',
    answering: '{name} antwortet Ihnen.',
  },
  fr: { ask: 'Parler à une personne', waiting: 'En attente d’une personne…', answering: '{name} vous répond.' },
  es: { ask: 'Hablar con una persona', waiting: 'Esperando a una persona…', answering: '{name} le responde.' },
  pt: { ask: 'Falar com uma pessoa', waiting: 'À espera de uma pessoa…', answering: '{name} está a responder.' },
  ja: { ask: '担当者と話す', waiting: '担当者をお待ちください…', answering: '{name}が対応しています。' },
  ar: { ask: 'التحدث إلى شخص', waiting: 'في انتظار شخص…', answering: '{name} يجيبك الآن.' },
};
