import { createServer, type AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';

/** A mail server that replies to a command as given, and as usual to the others. */
export async function startReplying(replies: Record<string, string>) {
  const received: string[] = [];
  const server = createServer((socket) => {
    let isData = false;
    socket.on('error', () => {});
    const reply = (command: string, usual: string) => socket.write(`${replies[command] ?? usual}\r\n`);
    reply('greeting', '220 mail.example ESMTP');
    createInterface(socket).on('line', (line) => {
      if (isData) {
        if (line !== '.') return;
        isData = false;
        return reply('.', '250 2.0.0 queued');
      }
      received.push(line);
      const command = /^(ehlo|helo|mail from|rcpt to|data)/i.exec(line)?.[0].toLowerCase() ?? '';
      isData = command === 'data' && !/^[45]/.test(replies['data'] ?? '');
      return reply(command, isData ? '354 go on' : '250 2.1.0 mail.example');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    /** The commands. */
    received,
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
