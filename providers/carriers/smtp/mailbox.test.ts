import type { Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { startHostileMailbox } from '#test/support/hostile-mailbox.ts';
import { smtpCarrier } from './smtp.ts';

type Replies = Record<string, (socket: Socket, tag: string, line: string) => void>;

/** Reads a mailbox with one new email, of which a server says what `replies` does of the commands. */
async function readFrom(replies: Replies, capabilities = 'IMAP4rev1') {
  const usual: typeof replies = {
    LIST: (socket, tag) => socket.write(`* LIST () "/" INBOX\r\n${tag} OK done\r\n`),
    EXAMINE: (socket, tag) =>
      socket.write(
        `* 1 EXISTS\r\n* OK [UIDVALIDITY 1] x\r\n* OK [UIDNEXT 2] x\r\n${tag} OK [READ-ONLY] done\r\n`,
      ),
    // SEARCH, then FETCH.
    UID: (socket, tag) => socket.write(`* SEARCH 1\r\n${tag} OK done\r\n`),
  };
  const logIn = replies['LOGIN'];
  const server = await startHostileMailbox(
    (socket, tag, command, line) => {
      const reply = replies[command] ?? usual[command];
      if (reply) reply(socket, tag, line);
      else socket.write(`${tag} OK done\r\n`);
    },
    logIn && ((socket, tag) => logIn(socket, tag, '')),
    capabilities,
  );
  const carrier = smtpCarrier({
    untrusted: { run: async () => [] as never, close() {} },
  });
  onTestFinished(async () => {
    await carrier.close();
    await server.stop();
  });
  const { host } = new URL(server.url);
  const now = new Date().toISOString();
  const position = {
    mailbox: `dana@${host.split(':')[0]}/INBOX`,
    uidValidity: '1',
    lastUid: 0,
    readAt: now,
    connectedAt: now,
  };
  const config = carrier.config.parse({ url: 'smtp://127.0.0.1:1', imapUrl: server.url });
  const read = await carrier.readInbox?.(config, JSON.stringify(position), 'tenant').catch((error: Error) => {
    return error.message.replace(host, 'mail.example');
  });
  return read;
}

test.each<[string, Replies, string]>([
  [
    'a search is refused',
    { UID: (socket, tag) => socket.write(`${tag} NO [INUSE] busy\r\n`) },
    'mail.example cannot be used: it could not search the folder',
  ],
  [
    'a search is not understood',
    { UID: (socket, tag) => socket.write(`${tag} BAD command\r\n`) },
    'mail.example cannot be used: it could not search the folder',
  ],
  [
    'the connection is lost during a search',
    { UID: (socket) => socket.destroy() },
    'mail.example cannot be used: it could not search the folder',
  ],
  [
    'the folder is gone',
    { EXAMINE: (socket, tag) => socket.write(`${tag} NO [NONEXISTENT] Unknown mailbox\r\n`) },
    'mail.example cannot be used: Unknown mailbox',
  ],
  [
    'it reports no next UID',
    { EXAMINE: (socket, tag) => socket.write(`* 1 EXISTS\r\n${tag} OK [READ-ONLY] done\r\n`) },
    'mail.example cannot be used: it reports no UIDNEXT',
  ],
  [
    'it says goodbye',
    { EXAMINE: (socket) => socket.end('* BYE Too many connections\r\n') },
    'mail.example closes the connection: Too many connections',
  ],
  [
    'nobody can log in for now',
    { LOGIN: (socket, tag) => socket.write(`${tag} NO [UNAVAILABLE] Temporary authentication failure\r\n`) },
    'mail.example cannot be used: Temporary authentication failure',
  ],
  [
    'the password has expired',
    { LOGIN: (socket, tag) => socket.write(`${tag} NO [EXPIRED] Set a new password\r\n`) },
    'mail.example says that the password has expired: Set a new password',
  ],
])('no email is skipped, and the reason is told, if %s', async (_what, replies, reason) => {
  expect(await readFrom(replies)).toBe(reason);
});

const refused = (code: string, text: string) => ({
  LOGIN: (socket: Socket, tag: string) => socket.write(`${tag} NO [${code}] ${text}\r\n`),
});
test.each<[string, ReturnType<typeof refused> | null, string, string]>([
  ['LOGINDISABLED', null, 'IMAP4rev1 LOGINDISABLED', 'takes no passwords on this connection: use imaps://'],
  [
    'PRIVACYREQUIRED',
    refused('PRIVACYREQUIRED', 'Plaintext authentication disallowed'),
    'IMAP4rev1',
    'takes passwords only on encrypted connections: use imaps:// and its port: Plaintext',
  ],
  [
    'AUTHORIZATIONFAILED',
    refused('AUTHORIZATIONFAILED', 'No IMAP'),
    'IMAP4rev1',
    'does not let this user open',
  ],
  [
    'CONTACTADMIN',
    refused('CONTACTADMIN', 'Locked'),
    'IMAP4rev1',
    'lets this user in only after its administrator was asked',
  ],
  [
    'a wrong password',
    refused('AUTHENTICATIONFAILED', 'No'),
    'IMAP4rev1',
    'refuses the user or the password: No',
  ],
])('the reason of a refused login is told in words: %s', async (_code, replies, capabilities, words) => {
  expect(await readFrom(replies ?? {}, capabilities)).toContain(`mail.example ${words}`);
});

/** The UIDs that a command names. */
function uidsIn(line: string): number[] {
  const set = /UID (?:FETCH|SEARCH UID) (\S+)/.exec(line)?.[1] ?? '';
  return set.split(',').flatMap((part) => {
    const [from = 0, to = from] = part.split(':').map(Number);
    return [1, 2, 3, 4].filter((uid) => uid >= from && uid <= to);
  });
}

/** A folder with the emails 1 to 4, of which a server returns one as `bad` says, and 4 was deleted. */
const folderWith = (bad: number, returned: (tag: string) => string | null): Replies => ({
  EXAMINE: (socket, tag) =>
    socket.write(
      `* 3 EXISTS\r\n* OK [UIDVALIDITY 1] x\r\n* OK [UIDNEXT 5] x\r\n${tag} OK [READ-ONLY] done\r\n`,
    ),
  UID: (socket, tag, line) => {
    const uids = uidsIn(line).filter((uid) => uid < 4);
    if (/ UID SEARCH /.test(line)) {
      socket.write(`* SEARCH ${uids.join(' ')}\r\n${tag} OK done\r\n`);
      return;
    }
    const isWhole = line.includes('BODY.PEEK[]');
    const refusal = uids.includes(bad) ? returned(tag) : null;
    if (refusal !== null && (isWhole || refusal.startsWith(tag))) {
      socket.write(refusal);
      return;
    }
    for (const uid of uids) {
      const part = isWhole ? 'BODY[]<0>' : 'BODY[HEADER.FIELDS (DATE)]';
      socket.write(`* ${uid} FETCH (UID ${uid} RFC822.SIZE 2 ${part} {2}\r\n\r\n)\r\n`);
    }
    socket.write(`${tag} OK done\r\n`);
  },
});

test.each<[string, (tag: string) => string]>([
  ['refuses it', (tag) => `${tag} NO Server error while fetching messages\r\n`],
  ['refuses it with a code', (tag) => `${tag} NO [SERVERBUG] Internal error\r\n`],
  ['says nothing of it', (tag) => `${tag} OK FETCH completed\r\n`.replace(/^/, '* OK Still here\r\n')],
  ['returns nothing for it', (tag) => `* 2 FETCH (UID 2 BODY[]<0> NIL)\r\n${tag} OK FETCH completed\r\n`],
])('one email that the server does not return does not keep the others: it %s', async (_how, returned) => {
  const batch = await readFrom(folderWith(2, returned));
  expect(batch).toMatchObject({
    read: [
      { position: expect.stringContaining('"lastUid":1') },
      {
        position: expect.stringContaining('"lastUid":2'),
        unreadable: { reference: '2', reason: 'the server does not return it' },
      },
      { position: expect.stringContaining('"lastUid":3') },
      { position: expect.stringContaining('"lastUid":4') },
    ],
    more: false,
  });
});

test('an email that the server does not return is not skipped before a later one is returned', async () => {
  const refuses = (tag: string): string => `${tag} NO Server error while fetching messages\r\n`;
  expect(await readFrom(folderWith(3, refuses))).toMatchObject({
    read: [
      { position: expect.stringContaining('"lastUid":1') },
      { position: expect.stringContaining('"lastUid":2') },
    ],
    more: true,
  });
});

test('an answer that is read first is not skipped if reading stops before it is stored', async () => {
  const uids = Array.from({ length: 22 }, (_, index) => index + 1);
  const answers = [21, 22];
  const head = 'In-Reply-To: <0123456789abcdef01234567@line.example>\r\n\r\n';
  const batch = await readFrom({
    EXAMINE: (socket, tag) =>
      socket.write(
        `* 22 EXISTS\r\n* OK [UIDVALIDITY 1] x\r\n* OK [UIDNEXT 23] x\r\n${tag} OK [READ-ONLY] done\r\n`,
      ),
    UID: (socket, tag, line) => {
      const isWhole = line.includes('BODY.PEEK[]');
      const asked = isWhole ? uids.filter((uid) => line.includes(` FETCH ${uid} `)) : uids;
      const fetched = asked.map((uid) => {
        const text = answers.includes(uid) ? head : '\r\n';
        const part = isWhole ? 'BODY[]<0>' : 'BODY[HEADER.FIELDS (IN-REPLY-TO)]';
        return `* ${uid} FETCH (UID ${uid} RFC822.SIZE ${text.length} ${part} {${text.length}}\r\n${text})\r\n`;
      });
      const found = line.includes(' UID SEARCH ') ? `* SEARCH ${uids.join(' ')}\r\n` : fetched.join('');
      socket.write(`${found}${tag} OK done\r\n`);
    },
  });
  expect(batch).toMatchObject({
    read: [
      { position: expect.stringContaining('"lastUid":0,') },
      { position: expect.stringContaining('"aheadUid":22') },
    ],
    more: true,
  });
  expect(typeof batch === 'object' && batch?.read[0]?.position).toContain('"aheadUid":21');
});
