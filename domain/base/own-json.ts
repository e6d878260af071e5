/** Parses JSON that this product wrote: a column, a sealed value, a file of its own. The linter forbids `JSON.parse` elsewhere. */
export const parseOwnJson = (text: string): unknown => JSON.parse(text);
