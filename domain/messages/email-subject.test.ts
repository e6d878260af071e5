import { expect, test } from 'vitest';
import { baseSubject, isReplySubject, isSameSubject, replySubject } from './email-subject.ts';

test.each([
  ['Re: Our offer'],
  ['RE : Our offer'],
  ['Re: Re: Our offer'],
  ['Re[2]: Our offer'],
  ['AW: Our offer'],
  ['Antw: Our offer'],
  ['SV: AW: RE: Our offer'],
  ['RV: Our offer', 'RV: Our offer'],
  ['RES: Our offer'],
  ['R: Our offer'],
  ['Odp: Our offer'],
  ['回复：Our offer'],
  ['[EXTERNAL] Re: Our offer'],
  ['Re: [EXT] Our offer'],
  ['***SPAM*** AW: Our offer'],
  ['Ответ: Our offer'],
  ['  re:\tOur  offer '],
  ['\u200eRe: Our offer'],
  ['Re-2: Our offer'],
  ['Respuesta: Our offer'],
  ['Resposta: Our offer'],
  ['Risposta: Our offer'],
  ['Antwoord: Our offer'],
  ['На: Our offer'],
  ['EXTERNAL: Re: Our offer'],
  ['[sales] Re: Our offer'],
  ['Re: [sales] Our offer', '[sales] Our offer'],
])('%j is answered with one prefix', (subject, base = 'Our offer') => {
  expect(replySubject(subject)).toBe(`Re: ${base}`);
  expect(baseSubject(subject)).toBe(base);
});

test.each(['Our offer', 'Regarding our offer', 'Restaurant: table for two', 'Service: prices', ''])(
  '%j has no prefix of a reply',
  (subject) => {
    expect(isReplySubject(subject)).toBe(false);
    expect(replySubject(subject)).toBe(`Re: ${subject}`.trim());
  },
);

test('compares subjects without prefixes and case', () => {
  expect(isSameSubject('AW: our Offer', 'Our offer')).toBe(true);
  expect(isSameSubject('WG: [External Email] RE: Our offer', 'Our offer')).toBe(true);
  expect(isSameSubject('[Extension] Our offer', 'Our offer')).toBe(false);
  expect(isSameSubject('Stop', 'Our offer')).toBe(false);
});
