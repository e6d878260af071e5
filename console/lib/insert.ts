import { flushSync } from 'react-dom';

/** Inserts a text where the cursor of a field is, in place of what is selected, and leaves the cursor behind it. */
export function inserted(
  field: HTMLTextAreaElement | null,
  text: string,
  insertion: string,
  change: (text: string) => void,
): void {
  const [start, end] = field ? [field.selectionStart, field.selectionEnd] : [text.length, text.length];
  // At once, so that the next key is typed behind it.
  flushSync(() => change(text.slice(0, start) + insertion + text.slice(end)));
  field?.focus();
  field?.setSelectionRange(start + insertion.length, start + insertion.length);
}
