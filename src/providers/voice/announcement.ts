/** Announces a block of code in the language of the text before it. */

interface Language {
  readonly announcement: string;
  /** Frequent words that hardly another of these languages has, or letters of its script. */
  readonly marks: RegExp;
}

const english: Language = {
  announcement: 'A code block follows.',
  marks: /(?<!\p{L})(?:the|and|is|are|this|that|with|for|you|it|of|to|can)(?!\p{L})/giu,
};

/** Japanese has the characters of Chinese as well, and so is looked for before it. */
const japanese: Language = {
  announcement: 'コードが続きます。',
  marks: /[\p{Script=Hiragana}\p{Script=Katakana}]/gu,
};

const languages: readonly Language[] = [
  english,
  {
    announcement: 'Es folgt ein Codeblock.',
    marks: /(?<!\p{L})(?:der|das|und|ist|nicht|ein|eine|mit|für|wie|hier|sie|ich|auf|so)(?!\p{L})/giu,
  },
  {
    announcement: 'Un bloc de code suit.',
    marks: /(?<!\p{L})(?:le|les|et|est|une|des|du|pour|avec|vous|voici|dans|ce|cette)(?!\p{L})/giu,
  },
  {
    announcement: 'Sigue un bloque de código.',
    marks: /(?<!\p{L})(?:el|los|las|y|es|una|por|para|con|esto|este|aquí|puede)(?!\p{L})/giu,
  },
  {
    announcement: 'Segue un blocco di codice.',
    marks: /(?<!\p{L})(?:il|gli|e|è|di|che|per|con|questo|questa|ecco|si|può)(?!\p{L})/giu,
  },
  {
    announcement: 'Segue um bloco de código.',
    marks: /(?<!\p{L})(?:o|os|um|uma|e|é|do|da|em|não|para|com|você|isto|este|aqui)(?!\p{L})/giu,
  },
  {
    announcement: 'Er volgt een codeblok.',
    marks: /(?<!\p{L})(?:het|een|en|is|niet|van|voor|met|dit|dat|hier|je|u)(?!\p{L})/giu,
  },
  { announcement: 'Dalej jest blok kodu.', marks: /(?<!\p{L})(?:i|jest|nie|na|się|to|z|do|jak|oto|tak)(?!\p{L})/giu },
  {
    announcement: 'Bir kod bloğu geliyor.',
    marks: /(?<!\p{L})(?:bir|ve|bu|için|ile|değil|şu|nasıl|olarak)(?!\p{L})/giu,
  },
  { announcement: 'Далее следует блок кода.', marks: /(?<!\p{L})(?:и|в|на|это|вот|как|для|не|что|пример)(?!\p{L})/giu },
  { announcement: 'Далі йде блок коду.', marks: /[іїєґ]|(?<!\p{L})(?:ось|та|це|що|щоб)(?!\p{L})/giu },
  { announcement: 'Ακολουθεί ένα μπλοκ κώδικα.', marks: /\p{Script=Greek}/gu },
  japanese,
  { announcement: '下面是一段代码。', marks: /\p{Script=Han}/gu },
  { announcement: '다음은 코드 블록입니다.', marks: /\p{Script=Hangul}/gu },
  { announcement: 'يتبع ذلك جزء من الشيفرة.', marks: /\p{Script=Arabic}/gu },
  { announcement: 'आगे कोड का एक खंड है।', marks: /\p{Script=Devanagari}/gu },
];

/** Characters at the end of a text by which its language is recognised. */
export const tellingCharacters = 400;

/** The announcement in the language with the most marks at the end of a text; in English where there are few. */
export function announcementAfter(text: string): string {
  const end = text.slice(-tellingCharacters);
  const countOf = ({ marks }: Language): number => end.match(marks)?.length ?? 0;
  if (countOf(japanese) > 1) return japanese.announcement;
  let [best, most] = [english, 1];
  for (const language of languages) {
    const count = countOf(language);
    if (count > most) [best, most] = [language, count];
  }
  return best.announcement;
}
