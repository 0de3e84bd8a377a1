/** How the widget looks: its name, its colours, and the number of unread replies. */
import type { Scheme, ToFrame } from '../messages.ts';
import { bare, type Parts, type Settings } from './parts.ts';

export interface Look {
  /** A scheme, and a colour as `#rrggbb`; what is not named stays as it is, and what is none of these is the page's own. */
  paint(theme: { readonly scheme?: string; readonly accent?: string | null }): ToFrame;
  count(unread: number): void;
}

export function makeLook({ all, label, badge, panel }: Parts, settings: Settings): Look {
  const look: Look = {
    paint({ scheme = settings.theme, accent = settings.accent }) {
      const theme = (settings.theme = /^(light|dark)$/.test(scheme!) ? scheme! : 'auto');
      settings.accent = /^#[\da-f]{6}$/i.test(accent!) ? accent! : '';
      all.style.colorScheme = theme.replace('auto', '');
      all.style.setProperty('--accent', settings.accent);
      return { type: 'theme', scheme: theme as Scheme, accent: settings.accent || null };
    },
    count(unread) {
      badge.hidden = !unread;
      badge.textContent = ` ${unread}`;
    },
  };
  label.textContent = panel.ariaLabel = settings.label ?? 'Chat';
  label.className = settings.label ? '' : 'icon';
  look.paint(bare({}));
  look.count(0);
  return look;
}
