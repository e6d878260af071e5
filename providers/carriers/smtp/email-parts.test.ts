import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { InboundReply } from '#domain/lines/carrier-event.ts';
import { ownLines } from '#domain/inbox/own-words.ts';
import { HTML_INLINE, HTML_QUOTATIONS } from '#test/fixtures/html-quotations.ts';
import { QUOTATIONS, SIGNATURES } from '#test/fixtures/quotations.ts';
import { anyText } from '#test/support/any-text.ts';
import { readMimeEmail, readPostedEmail } from './inbound.ts';

const post = (body: object) =>
  readPostedEmail(
    JSON.stringify({ MessageID: 'm1', From: 'bea@contact.example', Subject: 'Re: Our offer', ...body }),
  );

function read(body: { TextBody?: string; HtmlBody?: string; StrippedTextReply?: string }): InboundReply {
  const [event] = post(body);
  if (event?.kind !== 'reply') throw new Error('it is no reply');
  return event;
}

describe.each(Object.entries(HTML_QUOTATIONS))('an answer in HTML (%s)', (_program, HtmlBody) => {
  it('is told from what the mail program added, and the whole text is kept', () => {
    const { text, wholeText } = read({ HtmlBody });
    expect(text).toBe('Joo, soita.');
    expect(wholeText).toContain('To stop these mails');
  });

  it('is told by its HTML if the text has no marks that are known', () => {
    const TextBody =
      'Joo, soita.\n\nDana Demo kirjoitti 26. marrask.\n\nHello\nTo stop these mails, answer STOP.';
    expect(read({ TextBody, HtmlBody })).toMatchObject({ text: 'Joo, soita.', wholeText: TextBody });
  });
});

describe.each(Object.entries(HTML_INLINE))('answers between quoted lines (%s)', (_program, HtmlBody) => {
  it('are all of what was written', () => {
    expect(ownLines(read({ HtmlBody }).text)).toEqual(['Joo', 'Kello 9']);
  });
});

describe('what somebody wrote in an email', () => {
  it('is all of it without marks', () => {
    const { text, wholeText } = read({ HtmlBody: '<p>Hello</p><p style="margin-left:40px">Bea</p>' });
    expect([text, wholeText]).toEqual(['Hello\n\nBea', undefined]);
    expect(read({ TextBody: 'Hello' }).wholeText).toBeUndefined();
  });

  it('is the text, whatever other words its HTML has', () => {
    const HtmlBody = '<p>Something else</p><blockquote type="cite">Hello</blockquote>';
    expect(read({ TextBody: 'Stop writing to me', HtmlBody }).text).toBe('Stop writing to me');
  });

  it('is a quotation if there is nothing else', () => {
    const { text } = read({ HtmlBody: '<blockquote type="cite">Hello</blockquote>' });
    expect(text).toBe('> Hello');
    expect(read({ TextBody: 'Sent from my iPhone\n\n> Hello' }).text).toBe('Sent from my iPhone');
  });

  it('is without a signature that the email service has left', () => {
    const body = {
      TextBody: 'Ja\n\nVon meinem iPhone gesendet\n\n> x',
      StrippedTextReply: 'Ja\n\nVon meinem iPhone gesendet',
    };
    expect(read(body)).toMatchObject({ text: 'Ja', wholeText: body.TextBody });
  });

  it('is above the signature and the quotation, in all languages', () => {
    for (const [program, quotation] of Object.entries(QUOTATIONS)) {
      const TextBody = `Ja, gern.\n\nSent from my iPhone\n\n${quotation}`;
      expect(read({ TextBody }), program).toMatchObject({ text: 'Ja, gern.', wholeText: TextBody.trim() });
    }
  });

  it('goes on below a quotation, also if a signature is above it', () => {
    const TextBody =
      'Hi,\n\n-- \nBea\n\nOn Thu, Nov 26, 2026 at 9:00 AM Dana <d@l.example> wrote:\n> Monday?\n\nYes';
    expect(ownLines(read({ TextBody }).text)).toEqual(['Yes']);
  });

  it('is part of the whole text', () => {
    const part = fc.oneof(
      anyText(30),
      fc.constantFrom(
        ...Object.values(QUOTATIONS),
        ...SIGNATURES,
        ...Object.values(HTML_QUOTATIONS),
        '<p>',
        'STOP',
      ),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), fc.boolean(), (parts, isHtml) => {
        const body = parts.join('\n');
        const { text, wholeText = text } = read(isHtml ? { HtmlBody: body } : { TextBody: body });
        expect(wholeText.length).toBeGreaterThanOrEqual(isHtml ? 0 : text.length);
        if (!isHtml) for (const line of text.split('\n')) expect(wholeText).toContain(line.trim());
      }),
    );
  });
});

describe('an email without a sender', () => {
  it('is shown, from nobody', () => {
    expect(post({ From: '', TextBody: 'Hello' })).toMatchObject([
      { kind: 'reply', from: 'unknown sender', text: 'Hello' },
    ]);
  });
});

describe("Gmail's reaction to an email of ours", () => {
  const OURS = '<0123456789abcdef01234567.0123456789abcdef@line.example>';
  const reaction = (content: string, inReplyTo: string) =>
    post({
      TextBody: '🎉\n\nBea reacted via Gmail',
      Headers: [{ Name: 'In-Reply-To', Value: inReplyTo }],
      Attachments: [
        {
          Name: 'attachment-1',
          ContentType: 'text/vnd.google.email-reaction+json',
          Content: Buffer.from(content).toString('base64'),
        },
      ],
    });

  it('is a reaction, and no reply', () => {
    expect(reaction('{"emoji":"🎉","version":1}', OURS)).toMatchObject([
      {
        kind: 'reaction',
        carrierMessageId: OURS,
        reaction: 'emoji',
        emoji: '🎉',
        from: 'bea@contact.example',
      },
    ]);
  });

  it.each([
    ['{"emoji":"🎉"}', '<another@contact.example>'],
    ['{"emoji":5}', OURS],
    ['[', OURS],
  ])('is a reply if it cannot be read: %s', (content, inReplyTo) => {
    expect(reaction(content, inReplyTo)).toMatchObject([{ kind: 'reply' }]);
  });
});

/** An email as a server sends it, with a body of these bytes. */
async function readBytes(headers: readonly string[], body: Buffer | string): Promise<InboundReply> {
  const head = [
    'From: Bea <bea@contact.example>',
    'Message-ID: <m1@contact.example>',
    ...headers,
    '',
    '',
  ].join('\r\n');
  const [event] = await readMimeEmail(Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(body)]), true);
  if (event?.kind !== 'reply') throw new Error('it is no reply');
  return event;
}

const WINDOWS_1252 = Buffer.from('Gr\u00fc\u00dfe \u0096 \u0093ja\u0094', 'latin1');
const plain = (parameters: string, encoding = '8bit'): string[] => [
  `Content-Type: text/plain${parameters}`,
  `Content-Transfer-Encoding: ${encoding}`,
];

describe('the characters of an email', () => {
  it.each<[string, string[], Buffer | string]>([
    ['Windows-1252 that is labeled UTF-8', plain('; charset=utf-8'), WINDOWS_1252],
    ['Windows-1252 without a label', plain(''), WINDOWS_1252],
    ['Windows-1252 that is labeled Latin 1', plain('; charset=iso-8859-1'), WINDOWS_1252],
    [
      'the same, quoted',
      plain('; format=flowed; charset="UTF-8"', 'quoted-printable'),
      'Gr=FC=DFe =96 =93ja=94',
    ],
    ['UTF-8 that is labeled Latin 1', plain('; charset=iso-8859-1'), Buffer.from('Grüße – “ja”')],
    ['UTF-8 that is labeled ASCII', plain('; charset=us-ascii'), Buffer.from('Grüße – “ja”')],
    ['UTF-8 with an unknown label', plain('; charset=x-none'), Buffer.from('Grüße – “ja”')],
    [
      'HTML of the wrong label',
      ['Content-Type: text/html; charset=utf-8'],
      Buffer.from('<p>Gr\u00fc\u00dfe &ndash; \u0093ja\u0094</p>', 'latin1'),
    ],
  ])('are read: %s', async (_what, headers, body) => {
    expect((await readBytes(headers, body)).text).toBe('Grüße – “ja”');
  });

  it('are read in a subject without an encoding', async () => {
    expect(await readBytes(['Subject: Gr\u00fc\u00dfe', ...plain('; charset=utf-8')], 'Hi')).toMatchObject({
      subject: 'Grüße',
      text: 'Hi',
    });
  });

  it('that are no text stay', async () => {
    const text = 'Ã¼ is a mistake, \u{1F600} is not, \uFFFD neither';
    expect((await readBytes(plain('; charset=utf-8'), Buffer.from(text))).text).toBe(text);
  });
});

describe('the text of an email', () => {
  const PARTS = ['--B', 'Content-Type: text/plain', '', 'STOP', '--B--'].join('\r\n');
  it.each([
    ['no type', 'Content-Type:', 'STOP'],
    ['half a type', 'Content-Type: text', 'STOP'],
    ['no known type', 'Content-Type: see below', 'STOP'],
    ['a type of text that is not known', 'Content-Type: text/markdown; charset=utf-8', 'STOP'],
    ['a type of several parts, and none', 'Content-Type: multipart/alternative; boundary=A', 'STOP'],
    ['a type of several parts without their boundary', 'Content-Type: multipart/mixed', PARTS],
    ['another boundary', 'Content-Type: multipart/mixed;\r\n boundary=A', PARTS],
  ])('is read if it has %s', async (_what, type, body) => {
    expect(await readBytes([type], body)).toMatchObject({ text: 'STOP', attachments: [] });
  });

  it.each(['text/calendar; method=REPLY', 'text/markdown; name=a.md', 'application/pdf'])(
    'is none if it is a file: %s',
    async (type) => {
      expect(await readBytes([`Content-Type: ${type}`], 'STOP')).toMatchObject({
        text: '',
        attachments: [{}],
      });
    },
  );
});

describe('the HTML of an email', () => {
  it('has lines in the rows of tables, and nothing hidden', () => {
    const HtmlBody =
      '<div style="display:none">Preview</div><table><tr><td>STOP</td></tr><tr><td>Bea</td><td>Sales</td></tr></table>';
    expect(
      read({ HtmlBody })
        .text.split('\n')
        .map((line) => line.trim()),
    ).toEqual(['STOP', 'Bea  Sales']);
  });
});

describe('the files of an email', () => {
  it('have names that programs know, and no signatures among them', async () => {
    const part = (type: string) => [
      '--B',
      `Content-Type: ${type}`,
      'Content-Disposition: attachment',
      '',
      'x',
    ];
    const body = [
      '--B',
      'Content-Type: text/plain',
      '',
      'Yes',
      ...part('text/calendar; method=REQUEST'),
      ...part('application/pkcs7-signature; name=smime.p7s'),
      ...part('application/pgp-signature; name=signature.asc'),
      '--B--',
    ];
    const { attachments } = await readBytes(['Content-Type: multipart/mixed; boundary=B'], body.join('\r\n'));
    expect(attachments.map(({ name }) => name)).toEqual(['attachment-1.ics']);
  });
});

describe('the headers of an email', () => {
  const sent = (headers: readonly string[]) =>
    readMimeEmail(
      Buffer.from([...headers, 'Message-ID: <m1@c>', 'Content-Type: text/plain', '', 'Hi'].join('\r\n')),
      true,
    );

  it.each([
    ['a comma in a name without quotes', 'Lovelace, Ada <ada@contact.example>', 'Lovelace, Ada'],
    ['a group', 'Team: Ada <ada@contact.example>;', 'Ada'],
    ['a name in a comment', 'ada@contact.example (Ada)', 'Ada'],
  ])('name the sender: %s', async (_what, from, fromName) => {
    expect(await sent([`From: ${from}`])).toMatchObject([{ from: 'ada@contact.example', fromName }]);
  });

  it('name the message that is answered, also without brackets', async () => {
    const id = '6742f1c09b1e8a00d4c3b2a1.0123456789abcdef@line.example';
    expect(await sent(['From: ada@contact.example', `In-Reply-To: ${id}`])).toMatchObject([
      { replyTo: `<${id}>` },
    ]);
  });
});
