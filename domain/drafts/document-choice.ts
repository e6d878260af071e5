import type { KnowledgeDocument } from './knowledge-base.ts';
import { mapInTurns } from '../base/turns.ts';

const PASSAGE_CHARACTERS = 2000;

/** A part of a document, by which it is found. */
export interface Passage extends KnowledgeDocument {
  /** Each once, in lower case. */
  words: string[];
}

/** What a passage has of a question. */
export interface PassageMatch {
  position: number;
  /** Characters. */
  size: number;
  /** The words of the question that it has. */
  words: readonly string[];
}

/** The passages of documents, in their order. Made once whenever documents change; other work gets turns. */
export async function passagesOf(documents: readonly KnowledgeDocument[]): Promise<Passage[]> {
  const perDocument = await mapInTurns(documents, ({ title, text }) =>
    split(text.toWellFormed()).map((passage) => ({ title, text: passage })),
  );
  return mapInTurns(perDocument.flat(), (passage) => ({
    ...passage,
    words: wordsOf(`${passage.title} ${passage.text}`),
  }));
}

/**
 * The passages to send to the model with a question: all of them if they fit, otherwise those that score highest by inverse
 * document frequency.
 * @param passages all of a workspace.
 * @param budget in characters, without titles.
 * @returns their positions, in document order.
 */
export function choosePassages(passages: readonly PassageMatch[], budget: number): number[] {
  const holders = new Map<string, number>();
  for (const { words } of passages) for (const word of words) holders.set(word, (holders.get(word) ?? 0) + 1);
  const rarity = (word: string): number => Math.log(1 + passages.length / (holders.get(word) ?? 1));
  let left = budget;
  return passages
    .map((passage) => ({ ...passage, score: passage.words.reduce((sum, word) => sum + rarity(word), 0) }))
    .toSorted((a, b) => b.score - a.score || a.position - b.position)
    .filter(({ size }) => {
      if (size > left) return false;
      left -= size;
      return true;
    })
    .map(({ position }) => position)
    .toSorted((a, b) => a - b);
}

/** Groups paragraphs into passages; a paragraph that is too long is split. */
function split(text: string): string[] {
  const passages: string[] = [];
  for (const paragraph of text.split(/\n\s*\n/)) {
    for (let start = 0; start < paragraph.length;) {
      const piece = paragraph.slice(start, start + PASSAGE_CHARACTERS);
      // Not between the halves of a character.
      const own = /[\ud800-\udbff]$/.test(piece) ? piece.slice(0, -1) : piece;
      start += own.length;
      const last = passages.at(-1);
      if (last !== undefined && last.length + own.length + 2 <= PASSAGE_CHARACTERS) {
        passages[passages.length - 1] = `${last}\n\n${own}`;
      } else passages.push(own);
    }
  }
  return passages;
}

/** The words by which passages are found. */
export const wordsOf = (text: string): string[] => [
  ...new Set((text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => word.length > 2)),
];
