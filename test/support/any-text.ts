import fc from 'fast-check';

/** Arbitrary text of all code units, including lone surrogates and control characters. */
export const anyText = (maxLength: number): fc.Arbitrary<string> =>
  fc.array(fc.nat(0xff_ff), { maxLength }).map((units) => String.fromCharCode(...units));
