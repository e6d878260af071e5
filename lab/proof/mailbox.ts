import { chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findDovecot, MAIL_OWNER, startMailbox } from './world/dovecot.ts';
import { provePart } from './world/part.ts';

/**
 * `npm run prove -- mailbox`: reads a mailbox of a real Dovecot server with a certificate of its own: new email once, old email not
 * at all; an answer to us before a flood; and why it cannot be read.
 */
await provePart({
  name: 'mailbox',
  find() {
    const version = findDovecot();
    return version === null
      ? 'Dovecot is not installed (Debian: dovecot-imapd), or this is not root'
      : { version };
  },
  async prove(_found, check) {
    const mailbox = await startMailbox();
    let delivered = 0;
    function deliver(headers: Record<string, string>, text: string): void {
      delivered += 1;
      const lines = Object.entries({
        From: 'Bea <bea@contact.example>',
        Date: new Date().toUTCString(),
        'Message-ID': `<${delivered}@contact.example>`,
        ...headers,
      }).map(([name, value]) => `${name}: ${value}`);
      const name = `${Date.now()}.${String(delivered).padStart(6, '0')}.host`;
      const file = join(mailbox.maildir, 'new', name);
      writeFileSync(file, `${lines.join('\n')}\n\n${text}\n`);
      chownSync(file, MAIL_OWNER.uid, MAIL_OWNER.gid);
    }
    let position: string | null = null;
    async function readTexts(): Promise<string[]> {
      const read = await mailbox.readAll(position);
      ({ position } = read);
      return read.events.flatMap((event) => (event.kind === 'reply' ? [event.text] : []));
    }

    try {
      deliver({}, 'Before the line was connected');
      let texts = await readTexts();
      check('nothing is read from before the connection', texts.length === 0, texts);

      deliver({ Subject: 'Grüße' }, 'First');
      deliver({ Date: 'Mon, 15 Jan 2024 10:00:00 +0000' }, 'Restored');
      texts = await readTexts();
      check('new email is read, and old email that was restored is not', texts.join() === 'First', texts);

      for (let count = 0; count < 100; count += 1) deliver({}, `Newsletter ${count}`);
      deliver({ 'In-Reply-To': '<6742f1c09b1e8a00d4c3b2a1.0123456789abcdef@line.example>' }, 'Yes please');
      texts = await readTexts();
      check('an answer to us does not wait behind a flood', texts[0] === 'Yes please', texts);
      check('each email is read once', new Set(texts).size === 101 && texts.length === 101, texts.length);
      texts = await readTexts();
      check('there is nothing more', texts.length === 0, texts);

      const untrusted = await mailbox.failureOf({ caCertificates: undefined });
      check(
        'a certificate that nobody trusts is named',
        untrusted.includes('no trusted authority signed it'),
        untrusted,
      );
      const refused = await mailbox.failureOf({ imapUrl: mailbox.imapUrl('wrong') });
      check('a wrong password is named', refused.includes('refuses the user or the password'), refused);
    } finally {
      await mailbox.stop();
    }
  },
});
