import { buffer } from 'node:stream/consumers';
import type { AddressInfo } from 'node:net';
import Router from '@koa/router';
import PostalMime from 'postal-mime';
import { SMTPServer } from 'smtp-server';
import { z } from 'zod';
import { normalizeRecipient, Recipient } from './behaviour.ts';
import type { SimulatorContext, SimulatorPart } from './part.ts';

interface ReceivedMail {
  to: string[];
  subject: string;
  text: string;
  html: string;
  /** By lower-case name. */
  headers: Record<string, string>;
  receivedAt: string;
}

export interface SimulatedMail extends SimulatorPart {
  /** For `SMTP_URL`, e.g. `smtp://127.0.0.1:40125`. */
  smtpUrl: string;
}

const MAX_MAIL_BYTES = 40 * 1024 * 1024;

/** Local parts of recipients, also with a tag, whose emails meet what mail servers do late. */
const GREYLISTED = /^greylisted(?:\+[^@]*)?@/;
const REFUSED_LATE = /^refused-late(?:\+[^@]*)?@/;
const refusal = (responseCode: number, text: string): Error =>
  Object.assign(new Error(text), { responseCode });

/**
 * A mail server that accepts everything, except for what is refused after it was received, or at first. `GET /simulated/mail` lists the
 * emails.
 */
export async function simulateMail(simulator: SimulatorContext, port: number): Promise<SimulatedMail> {
  const journal = simulator.openJournal<ReceivedMail>('mail');
  const all: ReceivedMail[] = [];
  const byRecipient = new Map<string, ReceivedMail[]>();

  function keep(mail: ReceivedMail): void {
    all.push(mail);
    for (const to of new Set(mail.to)) {
      const previous = byRecipient.get(to);
      if (previous) previous.push(mail);
      else byRecipient.set(to, [mail]);
    }
  }
  journal.takePast().forEach(keep);
  const seen = new Set<string>();

  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onAuth: (auth, _session, callback) => callback(null, { user: auth.username ?? 'anyone' }),
    size: MAX_MAIL_BYTES,
    // Does not wait for idle connections of clients.
    closeTimeout: 500,
    onRcptTo({ address }, _session, callback) {
      const to = normalizeRecipient(address);
      const isDelayed = GREYLISTED.test(to) && !seen.has(to);
      seen.add(to);
      callback(isDelayed ? refusal(451, '4.7.1 Greylisted, try again') : null);
    },
    onData(stream, session, callback) {
      const to = session.envelope.rcptTo.map(({ address }) => normalizeRecipient(address));
      if (to.some((one) => REFUSED_LATE.test(one))) {
        stream.once('end', () => callback(refusal(550, '5.7.1 The content was refused')));
        stream.resume();
        return;
      }
      receive(buffer(stream), to).then(
        (mail) => {
          journal.append(mail);
          keep(mail);
          callback();
        },
        (error: Error) => callback(error),
      );
    },
  });
  // A client that disconnects must not crash the server.
  server.on('error', (error) => simulator.log(`mail: ${error.message}`));
  const { promise: listening, resolve, reject } = Promise.withResolvers<void>();
  server.server.once('error', reject);
  server.listen(port, '127.0.0.1', resolve);
  await listening;

  const routes = new Router();
  routes.get('/simulated/mail', (context) => {
    const { to } = z.object({ to: Recipient.optional() }).parse(context.query);
    const found = to === undefined ? all : (byRecipient.get(to) ?? []);
    const messages = found.map(({ to: recipients, ...mail }) =>
      to === undefined ? { to: recipients, ...mail } : mail,
    );
    context.body = { to: to ?? null, count: messages.length, messages };
  });

  return {
    routes,
    smtpUrl: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    async stop() {
      const { promise: closed, resolve: done } = Promise.withResolvers<void>();
      server.close(done);
      await closed;
      journal.close();
    },
  };
}

async function receive(raw: Promise<Buffer>, to: string[]): Promise<ReceivedMail> {
  const { subject = '', text = '', html = '', headers } = await PostalMime.parse(await raw);
  const byName: Record<string, string> = {};
  for (const { key, value } of headers) byName[key] = key in byName ? `${byName[key]}, ${value}` : value;
  return {
    to,
    subject,
    text: text.trimEnd(),
    html: html.trimEnd(),
    headers: byName,
    receivedAt: new Date().toISOString(),
  };
}
