/**
 * The pages of the public link (contract 9). Each language has one page, the same for every slug: the page's script
 * requests the assistant's name and texts. It names its script and its style, which are files of one build.
 */
import { directionOf, type Language, type Words } from '../pages/words.ts';
import { words as ar } from '../pages/words/ar.ts';
import { words as de } from '../pages/words/de.ts';
import { words as en } from '../pages/words/en.ts';
import { words as es } from '../pages/words/es.ts';
import { words as fr } from '../pages/words/fr.ts';
import { words as ja } from '../pages/words/ja.ts';
import { words as pt } from '../pages/words/pt.ts';

const wordsOf: Readonly<Record<Language, Words>> = { en, de, fr, es, pt, ja, ar };

/** Words that no script shows. */
const notHere: Readonly<Record<Language, string>> = {
  en: 'Not available here.',
  de: 'Hier nicht verfügbar.',
  fr: 'Non disponible ici.',
  es: 'No disponible aquí.',
  pt: 'Não disponível aqui.',
  ja: 'ここでは利用できません。',
  ar: 'غير متاح هنا.',
};

/** The content of `built.json`, which the build writes: names of files below `/link/`. */
export interface Built {
  readonly script: string;
  readonly style: string;
  /** The modules that the script imports first. */
  readonly first: readonly string[];
  /** The modules of the languages. */
  readonly words: Readonly<Record<Language, string>>;
  /** The worklet of microphone and loudspeaker. */
  readonly worklet: string;
  /** The script of the page that says that there is no conversation. */
  readonly refused: string;
}

const icon = encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="5" fill="#5b6ae0"/></svg>',
);

const head = (language: Language, title: string, { style }: Built, attributes = ''): string => `<!doctype html>
<html lang="${language}" dir="${directionOf(language)}"${attributes}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover, interactive-widget=resizes-content">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="icon" href="data:image/svg+xml,${icon}">
<link rel="stylesheet" href="/link/${style}">
`;

/** The differences between the pages of conversations in one language. */
export interface PageKind {
  /** Whether the assistant's voice is on. */
  readonly voice: boolean;
  /** Whether only visitors whom the site has signed in may begin. */
  readonly identityRequired: boolean;
}

export function conversationPage(language: Language, { voice, identityRequired }: PageKind, built: Built): string {
  const { conversation, needsScript } = wordsOf[language];
  const modules = [...built.first, built.words[language]]
    .map((name) => `<link rel="modulepreload" href="/link/${name}">\n`)
    .join('');
  const attributes = [
    voice ? ` data-voice="/link/${built.worklet}"` : '',
    identityRequired ? ' data-identity="required"' : '',
  ].join('');
  return `${head(language, conversation, built, attributes)}${modules}<script type="module" src="/link/${built.script}"></script>
</head>
<body><noscript><main class="alone"><p>${needsScript}</p></main></noscript></body>
</html>
`;
}

/** The page of an address where there is nothing. */
export function unknownPage(language: Language, built: Built): string {
  const { unknownTitle, unknownText } = wordsOf[language];
  return `${head(language, unknownTitle, built)}</head>
<body><main class="alone"><h1>${unknownTitle}</h1><p>${unknownText}</p></main></body>
</html>
`;
}

/** Text of an attribute's value or of an element. */
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');

/** The page in a frame for which there is no conversation; `hint` says to the site's owner what to do. */
export function refusedPage(language: Language, code: string, hint: string, built: Built): string {
  const words = notHere[language];
  return `${head(language, words, built, ` data-code="${code}" data-hint="${escaped(hint)}"`)}<script type="module" src="/link/${built.refused}"></script>
</head>
<body><main class="alone"><p>${words}</p><button type="button" hidden>${wordsOf[language].close}</button></main></body>
</html>
`;
}

/**
 * Returns a page's content security policy: nothing inline, nothing from elsewhere, no text that becomes script. The
 * page may be framed by one origin, by `'none'`, or by everybody for null.
 */
export const policyOf = (frameAncestors: string | null): string =>
  `default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'${frameAncestors === null ? '' : `; frame-ancestors ${frameAncestors}`}`;
