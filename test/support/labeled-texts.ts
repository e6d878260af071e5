import { createHash } from 'node:crypto';

export type Half = 'tune' | 'unseen';

/** The rules were tuned on one half; the other one was measured. By a hash, so that a text stays in its half. */
export const halfOf = (text: string): Half =>
  createHash('sha256').update(text).digest().readUInt8(0) % 2 === 0 ? 'tune' : 'unseen';

/** How often what was found is right, and what is right was found. */
export interface Measured {
  texts: number;
  found: number;
  alarms: number;
  missed: number;
  precision: number;
  recall: number;
}

/** @param judged for each text: what is right, and what was found; '' if there is nothing. */
export function measure(judged: readonly { right: string; found: string }[]): Measured {
  const count = (is: (one: { right: string; found: string }) => boolean) => judged.filter(is).length;
  const found = count((one) => one.found !== '' && one.found === one.right);
  const alarms = count((one) => one.found !== '' && one.found !== one.right);
  const missed = count((one) => one.right !== '' && one.found !== one.right);
  return {
    texts: judged.length,
    found,
    alarms,
    missed,
    precision: found / (found + alarms),
    recall: found / (found + missed),
  };
}
