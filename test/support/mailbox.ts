import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import createImapServer, { type ImapServer } from 'hoodiecrow-imap';

export interface TestMailbox {
  /** For `imapUrl`. */
  url: string;
  /** Puts an email into the mailbox. */
  deliver(headers: Record<string, string>, body: string): void;
  /** Puts a file into the mailbox. */
  deliverRaw(raw: string): void;
  /** Refuses all logins from now on, or accepts them again. */
  refuseLogins(refused: boolean): void;
  /** Gives all emails new UIDs, as after a restore from a backup. */
  renumber(): void;
  /** Is empty again and as it was when it was made, as after a restore that the server does not tell. */
  restore(): void;
  stop(): Promise<void>;
}

/** A real IMAP server with one mailbox. */
export async function startMailbox(): Promise<TestMailbox> {
  const user = { password: 'hunter2' };
  const server: ImapServer = createImapServer({
    plugins: ['ID', 'UNSELECT', 'LITERALPLUS', 'NAMESPACE', 'IDLE', 'ENABLE', 'SPECIAL-USE'],
    users: { 'dana@line.example': user },
    storage: { INBOX: { messages: [] } },
  });
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  const { port } = server.server.address() as AddressInfo;
  // The server stores each byte as a character.
  const deliverRaw = (raw: string): void =>
    server.appendMessage('INBOX', [], null, Buffer.from(raw, 'utf8').toString('latin1'));
  return {
    url: `imap://${encodeURIComponent('dana@line.example')}:hunter2@127.0.0.1:${port}/INBOX`,
    deliver(headers, body) {
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
      deliverRaw(`${lines.join('\r\n')}\r\n\r\n${body.replaceAll('\n', '\r\n')}\r\n`);
    },
    deliverRaw,
    refuseLogins(refused) {
      user.password = refused ? 'changed' : 'hunter2';
    },
    renumber() {
      const inbox = server.getMailbox('INBOX');
      inbox.uidvalidity += 1;
      inbox.messages.forEach((message, index) => (message.uid = index + 100));
      inbox.uidnext = inbox.messages.length + 100;
    },
    restore() {
      const inbox = server.getMailbox('INBOX');
      inbox.messages = [];
      inbox.uidnext = 1;
    },
    async stop() {
      server.server.closeAllConnections?.();
      server.server.close();
    },
  };
}
