import { expect, test } from 'vitest';
import { cardFileName, vCard } from './contact-card.ts';

const card = { firstName: 'Dana', lastName: 'Line', phone: '+14155550111' };

test('a card has a name, a number, and what else is given', () => {
  expect(vCard(card)).toBe(
    'BEGIN:VCARD\r\nVERSION:3.0\r\nN:Line;Dana;;;\r\nFN:Dana Line\r\nTEL;TYPE=CELL:+14155550111\r\nEND:VCARD\r\n',
  );
  const whole = vCard({ ...card, organization: 'Line & Co.', photoUrl: 'https://line.example/dana.png' });
  expect(whole).toContain('\r\nORG:Line & Co.\r\n');
  expect(whole).toContain('\r\nPHOTO;VALUE=URI:https://line.example/dana.png\r\n');
});

test('nothing in a name is taken for a part of the card', () => {
  const text = vCard({ ...card, firstName: 'Dana;Eve', lastName: String.raw`O\Line, Jr.` });
  expect(text).toContain(String.raw`N:O\\Line\, Jr.;Dana\;Eve;;;`);
  expect(cardFileName({ firstName: '../Dana', lastName: '' })).toBe('.. Dana.vcf');
});

test('long lines are folded at 75 octets, without splitting a character', () => {
  const firstName = '🦆ü'.repeat(33);
  const text = vCard({ ...card, firstName });
  for (const line of text.split('\r\n')) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(75);
  expect(text.replaceAll('\r\n ', '')).toContain(`FN:${firstName} Line`);
});
