import { describe, expect, it } from 'vitest';
import { isAutomaticSubject } from '#providers/carriers/smtp/automatic-email.ts';
import {
  AUTOMATIC_SUBJECTS,
  AUTOMATIC_TEXTS,
  HEADINGS,
  REACTIONS_SEEN,
  SIGNATURES_SEEN,
  STOPS_SEEN,
} from '#test/fixtures/labeled-texts.ts';
import { type Half, halfOf, measure } from '#test/support/labeled-texts.ts';
import { isAutomaticText } from './automatic-text.ts';
import { optOutKeyword } from '../contacts/opt-out.ts';
import { ownLines, writtenPart } from './own-words.ts';
import { quotedBy, textReactions } from './text-reaction.ts';

const SENT = 'Your table is booked';
const QUOTED = ['Hello Bea', 'To stop these mails, answer STOP.'];
const OWN = 'Good, Monday suits me.';

interface Judged {
  key: string;
  right: string;
  found: string;
}
const yes = (is: boolean): string => (is ? 'yes' : '');

/** What the modules find in each text of the set. */
const QUESTIONS: Record<string, Judged[]> = {
  'What is quoted?': HEADINGS.map(({ program, heading, marked }) => {
    const quotation = QUOTED.map((line) => (marked ? `> ${line}` : line)).join('\n');
    const part = writtenPart(`${OWN}\n\n${heading}\n${quotation}\n`) ?? '';
    // Words that are lost are another part.
    return { key: program, right: 'yes', found: part === OWN ? 'yes' : part.startsWith(OWN) ? '' : 'lost' };
  }),
  'What is the signature?': SIGNATURES_SEEN.map((signature) => {
    const own = ownLines(`${OWN}\n\n${signature}`).join('\n');
    return { key: signature, right: 'yes', found: own === OWN ? 'yes' : own.startsWith(OWN) ? '' : 'lost' };
  }),
  'Is it a reaction?': REACTIONS_SEEN.map(([text, right]) => ({
    key: text,
    right,
    found: textReactions(text).find((one) => quotedBy(one)(SENT))?.reaction ?? '',
  })),
  'Is it automatic? (texts)': AUTOMATIC_TEXTS.map(([text, is]) => ({
    key: text,
    right: yes(is),
    found: yes(isAutomaticText(text)),
  })),
  'Is it automatic? (subjects)': AUTOMATIC_SUBJECTS.map(([text, is]) => ({
    key: text,
    right: yes(is),
    found: yes(isAutomaticSubject(text)),
  })),
  'Does it ask to stop?': STOPS_SEEN.map(([text, is]) => ({
    key: text,
    right: yes(is),
    found: yes(optOutKeyword(text) === 'stop'),
  })),
};

const half = (judged: readonly Judged[], which: Half): Judged[] =>
  judged.filter(({ key }) => halfOf(key) === which);

if (process.env['SHOW_CONFUSION'] === '1')
  for (const which of ['tune', 'unseen'] as const)
    for (const [question, judged] of Object.entries(QUESTIONS)) {
      const { texts, precision, recall } = measure(half(judged, which));
      process.stdout.write(
        `| ${which} | ${question} | ${texts} | ${precision.toFixed(2)} | ${recall.toFixed(2)} |\n`,
      );
      if (which === 'tune' || process.env['SHOW_UNSEEN'] === '1')
        for (const { key, right, found } of half(judged, which))
          if (right !== found) process.stdout.write(`  ${JSON.stringify({ key, right, found })}\n`);
    }

describe.each(Object.entries(QUESTIONS))('%s', (_question, judged) => {
  it('is measured on texts of which half were unseen', () => {
    expect(judged.length).toBeGreaterThanOrEqual(30);
    expect(half(judged, 'unseen').length / judged.length).toBeGreaterThan(0.3);
  });

  it('is answered with a precision of 0.95 and a recall of 0.85 on the unseen half', () => {
    const { precision, recall } = measure(half(judged, 'unseen'));
    expect(precision).toBeGreaterThanOrEqual(0.95);
    expect(recall).toBeGreaterThanOrEqual(0.85);
  });
});
