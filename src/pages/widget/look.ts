/** The widget's look: its label and its colours. */
import type { Scheme, ToFrame } from '../messages.ts';
import { bare, type Parts, type Settings } from './parts.ts';

/**
 * Colours from now on: a scheme, and an accent as `#rrggbb`. A field that is absent stays as it is, and any other value
 * is the page's own.
 */
export type Paint = (theme: { readonly scheme?: string; readonly accent?: string | null }) => ToFrame;

export function makeLook({ all, label, panel }: Parts, settings: Settings): Paint {
  const paint: Paint = ({ scheme = settings.theme, accent = settings.accent }) => {
    const theme = (settings.theme = /^(light|dark)$/.test(scheme!) ? scheme! : 'auto');
    settings.accent = /^#[\da-f]{6}$/i.test(accent!) ? accent! : '';
    all.style.colorScheme = theme.replace('auto', '');
    all.style.setProperty('--accent', settings.accent);
    return { type: 'theme', scheme: theme as Scheme, accent: settings.accent || null };
  };
  label.textContent = panel.ariaLabel = settings.label || 'Chat';
  label.className = settings.label ? '' : 'icon';
  paint(bare({}));
  return paint;
}
