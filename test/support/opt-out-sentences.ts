import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

export interface Sentence {
  language: string;
  /** Whether it asks to be left alone. */
  asks: boolean;
  text: string;
  /** The rules were tuned on one half; the other one was not looked at. By a hash, so that a sentence stays in its half. */
  half: 'tune' | 'unseen';
}

/** The labelled set: a heading such as `[en opt_out]`, then a sentence per line. */
export function labelledSentences(): Sentence[] {
  const file = new URL('../fixtures/opt-out-sentences.txt', import.meta.url);
  let heading = ['', ''];
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((text): Sentence[] => {
      const found = /^\[(\w+) (\w+)\]$/.exec(text);
      if (found) heading = found.slice(1);
      if (found || text === '') return [];
      const [language = '', label = ''] = heading;
      const isTune = createHash('sha256').update(text).digest().readUInt8(0) % 2 === 0;
      return [{ language, asks: label === 'opt_out', text, half: isTune ? 'tune' : 'unseen' }];
    });
}
