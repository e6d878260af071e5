import { createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

export interface HostileMailbox {
  /** For `imapUrl`. */
  url: string;
  stop(): Promise<void>;
}

const ok = (socket: Socket, tag: string): unknown => socket.write(`${tag} OK done\r\n`);

/**
 * Starts an IMAP server.
 * @param respond writes the response to a command. Without a line with its tag, the response never ends. `line`: all of it.
 * @param logIn the same for `LOGIN`; default: it accepts any.
 * @param capabilities those of its greeting.
 */
export async function startHostileMailbox(
  respond: (socket: Socket, tag: string, command: string, line: string) => void,
  logIn: (socket: Socket, tag: string) => void = ok,
  capabilities = 'IMAP4rev1',
): Promise<HostileMailbox> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    socket.write(`* OK [CAPABILITY ${capabilities}] ready\r\n`);
    socket.setEncoding('utf8').on('data', (lines: string) => {
      for (const line of lines.split('\r\n').filter((text) => text !== '')) {
        const [tag = '', command = ''] = line.split(' ');
        if (/^LOGIN$/i.test(command)) logIn(socket, tag);
        else if (/^(CAPABILITY|NAMESPACE|ID|NOOP)$/i.test(command)) ok(socket, tag);
        else respond(socket, tag, command.toUpperCase(), line);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `imap://dana:hunter2@127.0.0.1:${port}/INBOX`,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
