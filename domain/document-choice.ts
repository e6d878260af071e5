import type { KnowledgeDocument } from './knowledge-base.ts';

const PASSAGE_CHARACTERS = 2000;

/**
 * The documents to send to the model with a question: all of them if they fit, otherwise the passages that score highest
 * by inverse document frequency, in document order.
 * @param budget in characters, without titles.
 */
export function chooseDocuments(
  documents: readonly KnowledgeDocument[],
  question: string,
  budget: number,
): KnowledgeDocument[] {
  const size = documents.reduce((sum, { text }) => sum + text.length, 0);
  if (size <= budget) return [...documents];
  const passages = documents
    .flatMap(({ title, text }) => passagesOf(text).map((passage) => ({ title, text: passage })))
    .map((passage, position) => ({
      ...passage,
      position,
      words: wordsOf(`${passage.title} ${passage.text}`),
    }));
  const asked = wordsOf(question);
  const rarity = new Map<string, number>();
  for (const word of asked) {
    const holders = passages.filter(({ words }) => words.has(word)).length;
    rarity.set(word, holders === 0 ? 0 : Math.log(1 + passages.length / holders));
  }
  const score = (words: ReadonlySet<string>): number =>
    [...asked].reduce((sum, word) => sum + (words.has(word) ? (rarity.get(word) ?? 0) : 0), 0);
  let left = budget;
  return passages
    .map((passage) => ({ ...passage, score: score(passage.words) }))
    .toSorted((a, b) => b.score - a.score || a.position - b.position)
    .filter(({ text }) => {
      if (text.length > left) return false;
      left -= text.length;
      return true;
    })
    .toSorted((a, b) => a.position - b.position)
    .map(({ title, text }) => ({ title, text }));
}

/** Groups paragraphs into passages; a paragraph that is too long is split. */
function passagesOf(text: string): string[] {
  const passages: string[] = [];
  for (const paragraph of text.split(/\n\s*\n/)) {
    for (let start = 0; start < paragraph.length; start += PASSAGE_CHARACTERS) {
      const piece = paragraph.slice(start, start + PASSAGE_CHARACTERS);
      const last = passages.at(-1);
      if (last !== undefined && last.length + piece.length + 2 <= PASSAGE_CHARACTERS) {
        passages[passages.length - 1] = `${last}\n\n${piece}`;
      } else passages.push(piece);
    }
  }
  return passages;
}

const wordsOf = (text: string): Set<string> =>
  new Set((text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => word.length > 2));
