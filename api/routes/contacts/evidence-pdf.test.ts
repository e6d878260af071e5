import { inflateSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { Evidence } from '#domain/contacts/evidence.ts';
import { evidencePdf, printable } from './evidence-pdf.ts';

const AT = '2026-11-29T10:00:00.000Z';

const evidence: Evidence = {
  success: true,
  generatedAt: AT,
  workspaceId: 'org_1',
  workspaceName: 'Acme',
  timezone: 'UTC',
  leadId: 'lead',
  name: 'Ada Byron',
  addresses: ['+14155550100'],
  consents: [],
  messages: [],
  optOuts: [],
  audit: [],
  truncated: false,
  verification: {
    result: 'intact',
    counts: { intact: 0, edited: 0, changed: 0, pending: 0, unsealed: 0 },
    chainPosition: 0,
    chainHash: null,
  },
};

/** The document, and the contents of its compressed streams. */
async function written(given: Partial<Evidence>): Promise<{ pages: number; streams: string[] }> {
  const whole = { ...evidence, ...given };
  const bytes = Buffer.concat(await evidencePdf(whole, Buffer.from(JSON.stringify(whole))).toArray());
  const text = bytes.toString('latin1');
  const streams = [...text.matchAll(/stream\n([\s\S]*?)\nendstream/g)].map(([, data = '']) =>
    inflateSync(Buffer.from(data, 'latin1')).toString(),
  );
  return { pages: text.match(/\/Type \/Page\n/g)?.length ?? 0, streams };
}

const optOut = (text: string): Evidence['optOuts'][number] => ({
  consentId: 'consent',
  at: AT,
  address: '+14155550100',
  source: 'reply',
  text,
  endedAt: null,
  messagesAfter: 0,
  secondsUntilNothingLeft: 0,
});

test('contains the data as a file', async () => {
  const { streams } = await written({ name: 'Zoë “Ada”' });
  expect(streams.some((text) => text.startsWith('{') && JSON.parse(text).name === 'Zoë “Ada”')).toBe(true);
});

test.each([
  ['without a space', 'x'.repeat(100_000), 10],
  ['of wide letters', 'W'.repeat(50_000), 10],
  ['in a script that the font lacks', '漢'.repeat(20_000), 10],
  ['of many lines', 'a\n'.repeat(10_000), 100],
])('shows a whole text %s', async (_, text, atLeast) => {
  const { pages } = await written({ optOuts: [optOut(text)] });
  expect(pages).toBeGreaterThan(atLeast);
});

test.each([
  ['\u05d0POTS', '\u05d0 POTS'],
  ['POTS\u05d0', 'POTS \u05d0'],
  ['\u05d0.\u2026POTS', '\u05d0.\u2026 POTS'],
  ['\u0627123 \u05d0\u05d1.', '\u0627 123 \u05d0\u05d1.'],
  ['\u202eyenom\u202c \u2066on\u2069\u061c', '[U+202E]yenom[U+202C] [U+2066]on[U+2069][U+61C]'],
  ['a\u200fb', 'a[U+200F]b'],
  ['S\u200bT\u200dOP', 'STOP'],
])('shows %j in no other order than it was written', (text, shown) => expect(printable(text)).toBe(shown));
