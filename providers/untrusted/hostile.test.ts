import fc from 'fast-check';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { sanitizeEvents, type CarrierEvent, MAX_FILES, MAX_TEXT } from '#domain/lines/carrier-event.ts';
import { textProblem } from '#domain/base/text.ts';
import { JsonTooComplex } from '#domain/base/untrusted-json.ts';
import { eventsOf, readBlueBubblesEvent } from '../carriers/bluebubbles/callback.ts';
import { unquoted } from '#domain/inbox/own-words.ts';
import { readMimeEmail, readPostedEmail } from '../carriers/smtp/inbound.ts';
import { readTwilioForm, signTwilio } from '../carriers/twilio/callback.ts';
import { emailHtmlToText, htmlToText } from './html-text.ts';
import { createUntrustedWork, Unreadable } from './processes.ts';

// The machine that runs the tests may be slow; the assertions compare ratios.
vi.setConfig({ testTimeout: 60_000 });

const NOW = new Date('2026-03-02T12:00:00Z');

/** Expects what every reader guarantees: events that can be stored and shown. */
function expectBounded(events: readonly CarrierEvent[]): void {
  for (const event of events) {
    expect(event.eventId.length).toBeLessThanOrEqual(500);
    expect(Number.isNaN(event.at.getTime())).toBe(false);
    if (event.kind !== 'reply') continue;
    expect(event.text.length).toBeLessThanOrEqual(MAX_TEXT);
    expect(textProblem(event.text)).toBeNull();
    expect(event.attachments.length).toBeLessThanOrEqual(MAX_FILES);
    for (const { name, contentType } of event.attachments) {
      expect(name).not.toMatch(/[/\\\p{Cc}]/u);
      expect(name.length).toBeGreaterThan(0);
      expect(contentType ?? '').toMatch(/^[ -~]*$/);
    }
  }
}

/** Runs a reader and rethrows any error except those it may throw. */
async function read(reader: () => CarrierEvent[] | Promise<CarrierEvent[]>): Promise<void> {
  try {
    expectBounded(await reader());
  } catch (error) {
    const isDeclared =
      error instanceof z.ZodError ||
      error instanceof SyntaxError ||
      error instanceof JsonTooComplex ||
      error instanceof Unreadable;
    if (!isDeclared) throw error;
  }
}

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.constantFrom(
    '',
    '\0',
    '\ud800',
    '<>',
    '<a@b.c>',
    '"',
    '=?utf-8?B?////?=',
    '../../etc/passwd',
    'x'.repeat(5000),
  ),
);
const field = fc.oneof(text, fc.integer(), fc.double(), fc.constant(null), fc.object({ maxDepth: 2 }));
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });

describe('arbitrary input causes only declared errors and bounded events', () => {
  it('as an email over HTTP', async () => {
    const email = fc.record(
      {
        MessageID: fc.oneof(text, field),
        From: fc.oneof(text, field),
        FromFull: maybe(fc.record({ Email: field })),
        Date: fc.oneof(fc.constantFrom('+275760-09-13', '-271821-04-20', 'Tue, 99 Foo', '1e9'), field),
        TextBody: fc.oneof(text, field),
        HtmlBody: fc.oneof(text, field),
        StrippedTextReply: maybe(text),
        Headers: fc.array(
          fc.record({
            Name: fc.constantFrom(
              'In-Reply-To',
              'References',
              'Auto-Submitted',
              'Message-ID',
              'Content-Type',
              'Date',
            ),
            Value: text,
          }),
        ),
        Attachments: fc.array(
          fc.record({
            Name: text,
            Content: text,
            ContentType: fc.oneof(
              text,
              fc.constantFrom('message/delivery-status', 'message/rfc822', 'image/png\r\nX: y'),
            ),
          }),
        ),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(fc.oneof(email, field), (body) => read(() => readPostedEmail(JSON.stringify(body)))),
    );
    await fc.assert(fc.asyncProperty(text, (raw) => read(() => readPostedEmail(raw))));
  });

  it('as an email in a mailbox', async () => {
    const line = fc.oneof(
      text.map((value) => `Subject: ${value}`),
      text.map((value) => `From: ${value}`),
      text.map((value) => `Message-ID: ${value}`),
      text.map((value) => `Date: ${value}`),
      text.map((value) => `Content-Disposition: attachment; filename="${value}"`),
      fc.constantFrom(
        'Content-Type: multipart/mixed; boundary=b',
        'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
        'Content-Type: message/delivery-status',
        'Content-Type: text/html; charset=utf-7',
        'Content-Type: text/html; charset=nonsense',
        'Content-Transfer-Encoding: base64',
        'Content-Transfer-Encoding: quoted-printable',
        '--b',
        '--b--',
        '',
        'Action: failed',
        'Status: 5.1.1',
      ),
      text,
    );
    const email = fc.array(line, { maxLength: 40 }).map((lines) => Buffer.from(lines.join('\r\n'), 'utf8'));
    const bytes = fc.uint8Array({ maxLength: 2000 });
    await fc.assert(
      fc.asyncProperty(fc.oneof(email, bytes), fc.boolean(), async (source, isWhole) => {
        // All its own errors concern the email; the process that runs it reports them as Unreadable.
        await read(() => readMimeEmail(source, isWhole).catch(() => []));
      }),
    );
  });

  it('as an event of BlueBubbles', async () => {
    const data = fc.record(
      {
        guid: fc.oneof(text, field),
        text: fc.oneof(text, field),
        isFromMe: fc.boolean(),
        itemType: fc.constantFrom(0, 1),
        dateCreated: fc.oneof(fc.double(), field),
        dateDelivered: fc.oneof(fc.double(), field),
        dateRead: fc.double(),
        error: fc.double(),
        handle: fc.record({ address: fc.oneof(text, field) }),
        associatedMessageGuid: maybe(text),
        associatedMessageType: fc.oneof(fc.constantFrom('love', '-love', 2001, 1e308, '-'), text),
        chats: fc.array(fc.record({ guid: text })),
        attachments: fc.array(fc.record({ guid: text, mimeType: text, transferName: text })),
      },
      { requiredKeys: [] },
    );
    const type = fc.constantFrom('new-message', 'updated-message', 'message-send-error', 'typing-indicator');
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.record({ type, data }), field), (body) =>
        read(() => {
          const reported = readBlueBubblesEvent(JSON.stringify(body), NOW);
          if (!reported) return [];
          const context = { baseUrl: 'http://mac.example', mayBeByHand: true, now: NOW };
          return sanitizeEvents(eventsOf(reported.message, context), NOW);
        }),
      ),
    );
  });

  it('as a form of Twilio', async () => {
    const names =
      'MessageSid MessageStatus From To Body NumMedia MediaUrl0 MediaContentType0 CallSid CallStatus CallDuration Timestamp RecordingSid RecordingUrl ErrorCode';
    const name = fc.constantFrom(...names.split(' '));
    const value = fc.oneof(text, fc.constantFrom('delivered', 'completed', '3', '-1', '1e308', 'http://['));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(name, value)), (fields) =>
        read(() => sanitizeEvents(readTwilioForm(new URLSearchParams(fields), NOW), NOW)),
      ),
    );
  });
});

describe('reading takes linear time', () => {
  /** @returns the best of several runs, in milliseconds: other load only adds to a run. */
  async function bestTime(work: () => unknown): Promise<number> {
    let best = Number.POSITIVE_INFINITY;
    for (let run = 0; run < 6; run += 1) {
      const started = performance.now();
      await work();
      best = Math.min(best, performance.now() - started);
    }
    return best;
  }

  /** For eight times the input, quadratic work takes 64 times as long; linear work takes eight times plus noise. */
  async function expectLinear(work: (n: number) => unknown, n: number): Promise<void> {
    await work(n);
    const measure = async () => ({
      one: await bestTime(() => work(n)),
      eight: await bestTime(() => work(8 * n)),
    });
    const isLinear = ({ one, eight }: Awaited<ReturnType<typeof measure>>) => eight < 32 * Math.max(one, 1);
    let times = await measure();
    // Other load may last longer than a measurement.
    for (let again = 0; again < 4 && !isLinear(times); again += 1) times = await measure();
    expect(isLinear(times), `${n}: ${times.one} ms, ${8 * n}: ${times.eight} ms`).toBe(true);
  }

  const posted = (fields: object) =>
    read(() =>
      readPostedEmail(JSON.stringify({ MessageID: 'm', From: 'a@b.example', TextBody: 'x', ...fields })),
    );
  const mime = (headers: string, body = '') =>
    readMimeEmail(Buffer.from(`From: a@b.example\r\n${headers}\r\n\r\n${body}`), true).catch(() => []);

  it.each<[string, (n: number) => unknown, number]>([
    ['a sender of opening brackets', (n) => posted({ From: `a@b.example ${'<'.repeat(n)}` }), 50_000],
    ['a sender of quotes', (n) => posted({ From: `${'"('.repeat(n)}a@b.example` }), 20_000],
    ['references', (n) => posted({ Headers: [{ Name: 'References', Value: '<'.repeat(n) }] }), 50_000],
    [
      'references to us',
      (n) => posted({ Headers: [{ Name: 'References', Value: `<${'a'.repeat(24)}@x `.repeat(n) }] }),
      10_000,
    ],
    [
      'an address of a list that has no end',
      (n) => posted({ Headers: [{ Name: 'List-Post', Value: 'a'.repeat(n) }] }),
      5000,
    ],
    [
      'a word in the report of a mail server',
      (n) =>
        posted({
          From: 'mailer-daemon@b.example',
          TextBody: `<${'0'.repeat(24)}.${'0'.repeat(16)}@a.example> ${'a'.repeat(n)}`,
        }),
      5000,
    ],
    [
      'headers',
      (n) => posted({ Headers: Array.from({ length: n }, () => ({ Name: 'X', Value: 'y' })) }),
      500,
    ],
    [
      'attachments',
      (n) => posted({ Attachments: Array.from({ length: n }, () => ({ Name: 'x', Content: '' })) }),
      500,
    ],
    ['headings of quotes', (n) => unquoted('On a b c d e\n'.repeat(n)), 5000],
    ['a heading that does not end', (n) => unquoted(`On ${'a '.repeat(n)}`), 20_000],
    ['quote marks', (n) => unquoted('> a\n'.repeat(n)), 20_000],
    ['underlines', (n) => unquoted('_'.repeat(n)), 50_000],
    [
      'a delivery status',
      (n) =>
        posted({
          TextBody: `<${'0'.repeat(24)}.${'0'.repeat(16)}@a.example>`,
          Attachments: [
            {
              Name: 'r',
              ContentType: 'message/delivery-status',
              Content: Buffer.from('Diagnostic-Code:\n \n'.repeat(n)).toString('base64'),
            },
          ],
        }),
      5000,
    ],
    [
      'spaces in a complaint',
      (n) =>
        posted({
          Attachments: [
            {
              Name: 'r',
              ContentType: 'message/feedback-report',
              Content: Buffer.from(`Feedback-Type:${' '.repeat(n)}x\u2028`).toString('base64'),
            },
          ],
        }),
      5000,
    ],
    [
      'a form of many fields',
      (n) =>
        signTwilio(
          'token',
          'https://x',
          new URLSearchParams(Array.from({ length: n }, (_, i) => [`f${i}`, ''] as [string, string])),
        ),
      5000,
    ],
    [
      'MIME parts',
      (n) => mime('Content-Type: multipart/mixed; boundary=b', '--b\r\nContent-Type: a/b\r\n\r\n'.repeat(n)),
      2000,
    ],
    ['MIME headers', (n) => mime('X: y\r\n'.repeat(n).trim()), 5000],
    ['encoded words', (n) => mime(`Subject: ${'=?utf-8?Q?a?= '.repeat(n)}`), 5000],
    ['spaces of HTML', (n) => htmlToText(`<pre>a${' '.repeat(n)}b</pre>`), 5000],
    ['lines of HTML', (n) => htmlToText('<p>x</p>'.repeat(n)), 1000],
    ['links of HTML', (n) => htmlToText('<a href="x">y</a>'.repeat(n)), 1000],
    ['entities of HTML', (n) => htmlToText('&amp;'.repeat(n)), 5000],
    [
      'quotations of HTML',
      (n) => emailHtmlToText('<div class="gmail_attr">x</div><blockquote>y</blockquote>'.repeat(n)),
      500,
    ],
    ['signatures of HTML', (n) => emailHtmlToText('<div id="Signature">x'.repeat(n)), 1000],
    ['nested HTML', (n) => htmlToText('<div>'.repeat(n)), 2000],
  ])('for %s', async (_what, work, n) => expectLinear(work, n));

  it('for a million characters of HTML of any shape', () => {
    for (const part of [
      '<div>',
      '<ul><li>',
      '<table><tr><td>',
      '<blockquote>',
      '<b>',
      '<!--',
      '<',
      '<a href=x>',
    ])
      expect(htmlToText(part.repeat(200_000)).length).toBeLessThanOrEqual(1_000_000);
    expect(htmlToText(`${'<div>'.repeat(50)}Hello${'</div>'.repeat(50)}`)).toBe('Hello');
  });
});

describe('a process that reads untrusted content', () => {
  const work = createUntrustedWork({ memoryMegabytes: 64 });
  afterAll(() => work.close());

  it('is replaced when it exceeds its memory, so that the next email is read', async () => {
    const wide = `[${'[],'.repeat(3_000_000)}1]`;
    await expect(work.run('a', 'postedEmail', { rawBody: wide, receiver: {} })).rejects.toThrow(Unreadable);
    const email = JSON.stringify({ MessageID: 'm', From: 'ada@example.com', HtmlBody: '<p>Yes</p>' });
    expect(await work.run('a', 'postedEmail', { rawBody: email, receiver: {} })).toMatchObject([
      { kind: 'reply', text: 'Yes' },
    ]);
  });

  it('reports which fields are invalid', async () => {
    await expect(
      work.run('a', 'postedEmail', { rawBody: '{"MessageID":7}', receiver: {} }),
    ).rejects.toMatchObject({
      issues: expect.arrayContaining([expect.objectContaining({ path: 'MessageID' })]),
    });
    await expect(work.run('a', 'postedEmail', { rawBody: '{', receiver: {} })).rejects.toThrow(
      'not valid JSON',
    );
  });
});
