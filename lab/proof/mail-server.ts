import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { newId } from '../../domain/base/ids.ts';
import type { CarrierEvent, SendOutcome } from '../../providers/carriers/carrier.ts';
import { findDovecot, startMailbox } from './world/dovecot.ts';
import { debianProgram, provePart } from './world/part.ts';
import { MAX_MAIL_BYTES, POSTFIX, startPostfix } from './world/postfix.ts';

/**
 * `npm run prove -- mail-server`: sends through a real Postfix server with a certificate of its own, and reads its reports from a
 * mailbox of Dovecot. Both run in a folder of their own; the services of the machine are left alone.
 */
const REPORT_MS = 60_000;

await provePart({
  name: 'mail-server',
  find() {
    const dovecot = findDovecot();
    if (dovecot === null || debianProgram(POSTFIX, ['postfix']) === null)
      return 'Postfix or Dovecot is not installed (Debian: postfix, dovecot-imapd), or this is not root';
    const version = execFileSync('/usr/sbin/postconf', ['-dh', 'mail_version']).toString().trim();
    return { version: `Postfix ${version}, ${dovecot}` };
  },
  async prove(_found, check) {
    const mailbox = await startMailbox();
    const postfix = await startPostfix(mailbox).catch(async (error: unknown) => {
      await mailbox.stop();
      throw error;
    });
    const login = { user: 'dana', password: 'hunter2' };
    const config = (fields: object = {}) =>
      mailbox.config({ port: postfix.submission, ...login, ehloName: 'app.line.example', ...fields });
    const send = (to: string, fields: object = {}, text = 'Hello Ada'): Promise<SendOutcome> =>
      mailbox.carrier.send(
        config(fields),
        {
          attemptId: newId(),
          messageId: newId(),
          lineId: newId(),
          channel: 'email',
          from: { address: 'dana@line.example', name: 'Dana Müller' },
          to: { address: to, name: null },
          subject: 'Grüße 🎉',
          text,
          attachments: [],
          callbackUrl: 'http://localhost',
        },
        new AbortController().signal,
      );
    const verify = async (fields: object): Promise<string> => {
      const results: string[] = [];
      const reachCallbacks = async () => ({ result: 'pass' as const, text: 'It answers.' });
      const subject = { lineId: null, address: 'dana@line.example', callbackUrl: null, reachCallbacks };
      for await (const { name, result, text } of mailbox.carrier.checkConnection(config(fields), subject))
        if (result === 'fail') results.push(`${name}: ${text}`);
      return results.join();
    };

    const events: CarrierEvent[] = [];
    let position: string | null = null;
    async function read(): Promise<void> {
      const found = await mailbox.readAll(position);
      ({ position } = found);
      events.push(...found.events);
    }
    const idOf = (outcome: SendOutcome): string =>
      outcome.kind === 'accepted' ? outcome.carrierMessageId : outcome.kind;
    const reportsOf = (outcome: SendOutcome): CarrierEvent[] =>
      events.filter((event) => 'carrierMessageId' in event && event.carrierMessageId === idOf(outcome));
    async function untilReported(outcome: SendOutcome): Promise<CarrierEvent | undefined> {
      const end = Date.now() + REPORT_MS;
      while (reportsOf(outcome).length === 0 && Date.now() < end) {
        await pause(250);
        await read();
      }
      return reportsOf(outcome)[0];
    }
    const until = async (holds: () => boolean): Promise<boolean> => {
      const end = Date.now() + REPORT_MS;
      while (!holds() && Date.now() < end) await pause(250);
      return holds();
    };
    const mailsWith = (text: string): boolean =>
      ['new', 'cur'].some((folder) =>
        readdirSync(join(mailbox.maildir, folder)).some((name) =>
          readFileSync(join(mailbox.maildir, folder, name), 'utf8').includes(text),
        ),
      );
    const untilReceived = (text: string): Promise<boolean> => until(() => mailsWith(text));

    try {
      await read();
      check('the connection passes with STARTTLS and a login', (await verify({})) === '', await verify({}));
      const wrapped = { port: postfix.submissions, secure: true };
      check('… and with TLS from the start', (await verify(wrapped)) === '', await verify(wrapped));
      const untrusted = await verify({ caCertificates: undefined });
      check('a certificate that nobody trusts is named', untrusted.includes('trusted authority'), untrusted);
      const refused = await verify({ password: 'wrong' });
      check('a wrong password is named', /password/.test(refused) && !refused.includes('wrong'), refused);
      const unsafe = await send('dana@line.example', { caCertificates: undefined });
      check('nothing is sent to a server that is not trusted', unsafe.kind !== 'accepted', unsafe);

      const accepted = await send('bea@contact.example');
      check('an email is accepted', accepted.kind === 'accepted', accepted);
      const isSent = /to=<bea@contact\.example>, relay=virtual.*status=sent/;
      check('… and delivered', await until(() => isSent.test(postfix.log())));

      const unknownAtOnce = await send('nobody@contact.example', wrapped);
      check(
        'an unknown recipient that is refused at once fails with the text of the server',
        unknownAtOnce.kind === 'refused' && /5\.1\.1/.test(unknownAtOnce.reason),
        unknownAtOnce,
      );
      const greylisted = await send('grey@contact.example');
      check('a greylisted recipient is tried again', greylisted.kind === 'transient', greylisted);
      check('the greeting names the host of the line', postfix.log().includes('helo=<app.line.example>'));
      const tooLarge = await send('bea@contact.example', {}, 'Hello Ada\n'.repeat(MAX_MAIL_BYTES / 5));
      check('an email that is too large fails', tooLarge.kind === 'refused', tooLarge);

      const unknown = await send('nobody@contact.example');
      const full = await send('bea@full.example');
      const international = await send('josé@contact.example');
      const late = await send('bea@late.example');
      for (const [title, outcome] of Object.entries({ unknown, full, international, late }))
        check(
          `an email that cannot be delivered is accepted first: ${title}`,
          outcome.kind === 'accepted',
          outcome,
        );

      const isFailed = (event: CarrierEvent | undefined, reason: RegExp, isDead: boolean): boolean =>
        event?.kind === 'receipt' &&
        event.status === 'failed' &&
        reason.test(event.reason ?? '') &&
        (event.deadAddress ?? false) === isDead;
      const bounced = await untilReported(unknown);
      check(
        'the bounce of an unknown user fails the message',
        isFailed(bounced, /unknown user/i, true),
        bounced,
      );
      const overQuota = await untilReported(full);
      check(
        'a full mailbox fails the message, and the address is not dead',
        isFailed(overQuota, /Mailbox full/, false),
        overQuota,
      );
      const utf8 = await untilReported(international);
      check(
        'a recipient with a local part in UTF-8 gets a report of RFC 6533',
        mailsWith('message/global-delivery-status'),
      );
      check('… which is read', isFailed(utf8, /unknown user/i, true), utf8);

      const delayed = await untilReceived('Action: delayed');
      await read();
      check('the report that an email is delayed fails nothing', delayed && reportsOf(late).length === 0, {
        delayed,
        reports: reportsOf(late),
      });
      postfix.expire();
      const expired = await untilReported(late);
      check(
        'a deferred email fails once the server has given it up',
        isFailed(expired, /refused|timed out/i, false),
        expired,
      );
      await read();
      check('no report is taken for a reply', !events.some(({ kind }) => kind === 'reply'), events);
    } finally {
      postfix.stop();
      await mailbox.stop();
    }
  },
});
