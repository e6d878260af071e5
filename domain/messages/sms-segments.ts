/** The basic character set of SMS, in which a character takes 7 bits (3GPP TS 23.038, section 6.2.1). */
const BASIC = new Set(
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà',
);
/** Its extension, whose characters take two places each. */
const EXTENDED = new Set('\f^{}\\[~]|€');

/** Places in a message of one segment, and in each of several. */
const SEVEN_BIT = { one: 160, several: 153 };
const UCS_2 = { one: 70, several: 67 };

/**
 * The number of segments that carriers send and bill for a text. One character outside GSM-7 makes all of them UCS-2. A character
 * that takes two places is not split.
 */
export function smsSegments(text: string): { segments: number; encoding: 'GSM-7' | 'UCS-2' } {
  const characters = Array.from(text);
  const isSevenBit = characters.every((character) => BASIC.has(character) || EXTENDED.has(character));
  const { one, several } = isSevenBit ? SEVEN_BIT : UCS_2;
  const placesOf = (character: string): number =>
    isSevenBit ? (EXTENDED.has(character) ? 2 : 1) : character.length;
  const places = characters.map(placesOf);
  const encoding = isSevenBit ? 'GSM-7' : 'UCS-2';
  if (places.reduce((sum, length) => sum + length, 0) <= one)
    return { segments: text === '' ? 0 : 1, encoding };
  let segments = 1;
  let used = 0;
  for (const length of places) {
    if (used + length > several) {
      segments += 1;
      used = 0;
    }
    used += length;
  }
  return { segments, encoding };
}
