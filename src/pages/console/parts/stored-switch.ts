/** A switch of a page that is on unless the person has turned it off in this browser. */

export interface StoredSwitch {
  isOn(): boolean;
  turn(on: boolean): void;
}

export const storedSwitch = (name: string): StoredSwitch => ({
  isOn() {
    try {
      return localStorage.getItem(name) !== 'off';
    } catch {
      return true;
    }
  },
  turn(on) {
    try {
      if (on) localStorage.removeItem(name);
      else localStorage.setItem(name, 'off');
    } catch {
      // Storage is denied: the switch stays as it is until the page is loaded again.
    }
  },
});
