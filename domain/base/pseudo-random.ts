import { createHash } from 'node:crypto';

/** A pseudo-random number in [0, 1) derived from `name`. */
export function pseudoRandom(name: string): number {
  return createHash('sha256').update(name).digest().readUInt32BE(0) / 2 ** 32;
}
