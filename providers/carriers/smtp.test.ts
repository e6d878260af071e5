import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { outbound, smtpWorld, type SmtpWorld } from '#test/conformance/carrier-worlds.ts';

let world: SmtpWorld;
beforeEach(async () => {
  world = await smtpWorld();
});
afterEach(() => world.stop());

const send = (to: string, fields = {}, config = {}) =>
  world.carrier.send(
    { ...world.config, ...config },
    outbound(world, to, fields),
    new AbortController().signal,
  );

describe('what an outcome depends on', () => {
  it.each([
    ['a connection lost before the data: nothing was sent', 'broken-off@example.com', 'transient'],
    ['4yz after the data: the server did not keep it', 'later-content@example.com', 'transient'],
    ['5yz after the data: refused for good', 'refused-content@example.com', 'refused'],
    ['a connection lost after the data: nobody can tell', 'answer-lost@example.com', 'unknown'],
  ])('%s', async (_what, to, kind) => {
    expect((await send(to)).kind).toBe(kind);
  });

  it('an address that is none is refused before the server is told', async () => {
    expect((await send('')).kind).toBe('refused');
  });

  it('a wrong password is for the operator to put right, not for the message', async () => {
    const login = { user: 'dana', password: 'wrong' };
    expect((await send('ada@example.com', {}, login)).kind).toBe('transient');
    await expect(world.carrier.probe({ ...world.config, ...login }, 'line')).rejects.toThrow(
      'wrong password',
    );
    expect((await send('ada@example.com', {}, { user: 'dana', password: 'right' })).kind).toBe('accepted');
  });

  it('a kept connection that the server has closed meanwhile costs nothing', async () => {
    expect((await send('first@example.com')).kind).toBe('accepted');
    world.dropConnections();
    expect((await send('second@example.com')).kind).toBe('accepted');
    expect(await world.taken('second@example.com')).toBe(1);
  });
});

describe('what is sent', () => {
  const mailTo = async (to: string, fields: object) => {
    const outcome = await send(to, fields);
    const mail = world.mails.find((candidate) => candidate.to === to);
    if (!mail) throw new Error(`nothing came: ${JSON.stringify(outcome)}`);
    return { outcome, email: mail.email };
  };
  const header = (email: SmtpWorld['mails'][0]['email'], name: string) =>
    email.headers.find(({ key }) => key === name)?.value;

  it('the text as plain text and as HTML in which nothing of it is markup', async () => {
    const { email } = await mailTo('ada@example.com', { text: 'Hi <b>Ada</b> & co,\nline two\n\nBye "now"' });
    expect(email.text?.trim()).toBe('Hi <b>Ada</b> & co,\nline two\n\nBye "now"');
    expect(email.html).toContain('<p>Hi &lt;b&gt;Ada&lt;/b&gt; &amp; co,<br>');
    expect(email.html).toContain('<p>Bye &quot;now&quot;</p>');
    expect(email.from).toMatchObject({ name: 'Dana Line', address: 'dana@line.example' });
    expect(email.to).toMatchObject([{ name: 'Ada', address: 'ada@example.com' }]);
  });

  it.each([
    ['its own', { subject: 'Lunch?', text: 'Hello' }, 'Lunch?'],
    ['the first line that says something', { text: '\n  Hello Ada \nHow are you?' }, 'Hello Ada'],
    ['cut between words', { text: 'word '.repeat(40) }, `${'word '.repeat(15).trim()}…`],
    ['cut where there are no words', { text: 'x'.repeat(100) }, `${'x'.repeat(77)}…`],
    ['the sender, when there is no text', { text: '' }, 'Message from Dana Line'],
    ['never a second header', { subject: 'Hi\r\nBcc: eve@example.com' }, 'Hi Bcc: eve@example.com'],
  ])('the subject: %s', async (_what, fields, subject) => {
    const { email } = await mailTo('ada@example.com', fields);
    expect(email.subject).toBe(subject);
    expect(header(email, 'bcc')).toBeUndefined();
  });

  it('an id that is the attempt’s', async () => {
    const attemptId = '6742f1c09b1e8a00d4c3b2a1';
    const { outcome, email } = await mailTo('ada@example.com', { attemptId });
    expect(email.messageId).toBe(`<${attemptId}@line.example>`);
    expect(outcome).toEqual({ kind: 'accepted', carrierMessageId: email.messageId });
  });

  it('one-click unsubscribe (RFC 8058), when there is where to', async () => {
    const unsubscribeUrl = 'https://api.example.com/unsubscribe/abc.def?x=1&y=2';
    const { email } = await mailTo('ada@example.com', { unsubscribeUrl });
    expect(header(email, 'list-unsubscribe')).toBe(`<${unsubscribeUrl}>`);
    expect(header(email, 'list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click');
    const { email: without } = await mailTo('bob@example.com', {});
    expect(header(without, 'list-unsubscribe')).toBeUndefined();
  });

  const file = (url: string) => ({ name: 'offer.txt', url, contentType: null, voiceNote: false });

  it('attachments, fetched beforehand', async () => {
    const { email } = await mailTo('ada@example.com', { attachments: [file('https://files.example/offer')] });
    expect(email.attachments).toMatchObject([{ filename: 'offer.txt', mimeType: 'text/plain' }]);
    expect(Buffer.from(email.attachments[0]?.content as ArrayBuffer).toString()).toBe('the file');
  });

  it('nothing, when an attachment cannot be had', async () => {
    const outcome = await send('ada@example.com', { attachments: [file('https://files.example/missing')] });
    expect(outcome).toMatchObject({ kind: 'transient', reason: expect.stringContaining('attachment') });
    expect(world.mails).toEqual([]);
  });
});
