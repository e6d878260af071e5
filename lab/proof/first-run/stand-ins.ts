import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setInterval as every } from 'node:timers/promises';
import { SMTPServer } from 'smtp-server';
import { startTwilio } from '../../../simulator/twilio.ts';
import { TWILIO_ACCOUNT } from '../../../test/support/twilio.ts';

/**
 * What a first run reaches outside of its machine: Twilio, and a mail server at port 587 with TLS and a login. The folder has the
 * server's certificate, and gets what was received: `twilio.url`, `messages.json` and `mails`.
 */
const [folder = '', from = '', user = '', password = ''] = process.argv.slice(2);
const twilio = await startTwilio(TWILIO_ACCOUNT);
twilio.numbers.set(from, { smsUrl: '', sms: true });
new SMTPServer({
  key: readFileSync(join(folder, 'key.pem')),
  cert: readFileSync(join(folder, 'certificate.pem')),
  onAuth(login, _, done) {
    const isRight = login.username === user && login.password === password;
    done(isRight ? null : new Error('wrong login'), { user });
  },
  onData(stream, session, done) {
    if (!session.secure) return done(new Error('no TLS'));
    stream.on('data', (chunk: Buffer) => appendFileSync(join(folder, 'mails'), chunk));
    stream.on('end', () => done());
  },
}).listen(587, '127.0.0.1');
writeFileSync(join(folder, 'twilio.url'), twilio.url);
for await (const _ of every(200)) writeFileSync(join(folder, 'messages.json'), JSON.stringify(twilio.sent));
