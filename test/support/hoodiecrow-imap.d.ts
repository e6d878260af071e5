/** The package has no types; these cover what the tests use. */
declare module 'hoodiecrow-imap' {
  import type { Server } from 'node:net';

  interface Folder {
    uidvalidity: number;
    uidnext: number;
    messages: { uid: number }[];
  }
  export interface ImapServer {
    server: Server & { closeAllConnections?(): void };
    listen(port: number, host: string): void;
    appendMessage(folder: string, flags: string[], internalDate: string | null, raw: string): void;
    getMailbox(folder: string): Folder;
  }
  export default function createImapServer(options: object): ImapServer;
}
