import fc from 'fast-check';

/** Any text at all: every code unit, halves of surrogate pairs and control characters among them. */
export const anyText = (maxLength: number): fc.Arbitrary<string> =>
  fc.array(fc.nat(0xff_ff), { maxLength }).map((units) => String.fromCharCode(...units));
