import fc from 'fast-check';
import { parsePhoneNumberFromString } from 'libphonenumber-js/max';
import { describe, expect, it } from 'vitest';
import { normalizePhone } from './phone.ts';

describe('normalizePhone', () => {
  it('agrees with the parser about North American numbers, whatever the home country', () => {
    const digits = fc.stringMatching(/^[0-9]{9,11}$/);
    fc.assert(
      fc.property(digits, fc.constantFrom('US', 'CA', 'JM', 'DE'), (rest, country) => {
        const parsed = parsePhoneNumberFromString(`+1${rest}`, country);
        expect(normalizePhone(`+1${rest}`, country)).toBe(parsed?.isPossible() ? parsed.number : null);
      }),
      { numRuns: 2000 },
    );
  });

  it('agrees with the parser about short texts, which it refuses without parsing them', () => {
    const text = fc.stringMatching(/^[-+() .ext0-9٠-٩]{0,12}$/u);
    fc.assert(
      fc.property(text, fc.constantFrom('US', 'DE', 'SH', 'NU', 'AD'), (written, country) => {
        const parsed = parsePhoneNumberFromString(written, country);
        expect(normalizePhone(written, country)).toBe(parsed?.isPossible() ? parsed.number : null);
      }),
      { numRuns: 5000 },
    );
  });

  it('reads only international numbers if no country has the calling code', () => {
    expect(normalizePhone('020 7946 0003', 'GB', '+999')).toBeNull();
    expect(normalizePhone('+44 20 7946 0003', 'US', '+999')).toBe('+442079460003');
  });
});
