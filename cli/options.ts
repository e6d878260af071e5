import { InvalidArgumentError } from 'commander';

/** Parses an option. `Number` would make 0 of an empty text, and the body would contain null for a text that is no number. */
export function wholeNumber(value: string): number {
  if (!/^\d{1,15}$/.test(value)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(value);
}

/** Like `wholeNumber`, with a decimal point if wanted. */
export function decimalNumber(value: string): number {
  if (!/^\d{1,15}(\.\d+)?$/.test(value)) throw new InvalidArgumentError('It must be a number.');
  return Number(value);
}
