import { InvalidArgumentError } from 'commander';

/** Parses a whole number. `Number` turns an empty text into 0, and other text into NaN, which JSON writes as null. */
export function wholeNumber(value: string): number {
  if (!/^\d{1,15}$/.test(value)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(value);
}

/** Like `wholeNumber`, but with optional decimals. */
export function decimalNumber(value: string): number {
  if (!/^\d{1,15}(\.\d+)?$/.test(value)) throw new InvalidArgumentError('It must be a number.');
  return Number(value);
}
