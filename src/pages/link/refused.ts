/**
 * The page in a frame for which there is no conversation: reports the reason to the widget's loader, and can be closed.
 */
import { openFrame } from './parent.ts';
import { setScheme } from './theme.ts';

const query = new URLSearchParams(location.search);
const { code, hint } = document.documentElement.dataset;
const close = document.querySelector('button')!;

setScheme(query.get('scheme'));
if (window.parent !== window) {
  // A page without an origin, as one of a file, is nobody's to name; nothing that is sent is a secret.
  const frame = openFrame('*', (message) => {
    if (message.type === 'view') close.hidden = message.mode === 'inline';
  });
  const leave = (): void => frame.post({ type: 'close' });
  close.addEventListener('click', leave);
  document.addEventListener('keydown', ({ key }) => key === 'Escape' && leave());
  frame.post({ type: 'error', code: code!, hint: hint! });
}
