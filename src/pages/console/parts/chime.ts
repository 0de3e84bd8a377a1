/** The sound of a visitor who begins to wait, unless the person has turned it off in this browser. */
import { storedSwitch } from './stored-switch.ts';

export const sound = storedSwitch('parley:desk:sound');

/** Two notes; silent where the browser permits no sound before the first click. */
export function chime(): void {
  if (!sound.isOn()) return;
  const context = new AudioContext();
  const gain = context.createGain();
  gain.connect(context.destination);
  const begin = context.currentTime;
  for (const [index, frequency] of [660, 880].entries()) {
    const note = context.createOscillator();
    note.frequency.value = frequency;
    note.connect(gain);
    note.start(begin + index * 0.18);
    note.stop(begin + (index + 1) * 0.18);
    if (index === 1) note.onended = () => void context.close();
  }
  gain.gain.setValueAtTime(0.08, begin);
  gain.gain.exponentialRampToValueAtTime(0.001, begin + 0.36);
}
