/** Whoever waits longer than this presses keys for something else. */
const PATIENCE_MS = 2000;

let held: { text: string; release: () => void } | null = null;

/** Holds what is typed from now on for a field that is about to be shown, so that it does nothing else. */
export function holdKeys(): void {
  held?.release();
  let text = '';
  const listen = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key.length === 1) text += event.key;
    else if (event.key === 'Backspace') text = text.slice(0, -1);
    else return;
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  const release = (): void => {
    window.removeEventListener('keydown', listen, true);
    clearTimeout(timer);
    held = null;
  };
  const timer = setTimeout(release, PATIENCE_MS);
  window.addEventListener('keydown', listen, true);
  held = {
    get text() {
      return text;
    },
    release,
  };
}

/** What was held, once the field takes the keys itself. */
export function takeHeldKeys(): string {
  const text = held?.text ?? '';
  held?.release();
  return text;
}
