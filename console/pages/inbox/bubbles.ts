/** The API takes no more in one request. */
export const MAX_BUBBLES = 5;

/** The parts of a text between its blank lines. */
export const bubblesOf = (text: string): string[] =>
  text
    .split(/\n[^\S\n]*\n/)
    .map((part) => part.trim())
    .filter((part) => part !== '');
