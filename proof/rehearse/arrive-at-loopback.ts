import { type NetConnectOpts, Socket } from 'node:net';
import { PUBLIC_ADDRESS } from './public-address.ts';

/*
 * Connections to the public address arrive at loopback. The process resolves and checks addresses as always, and only the
 * last step is another.
 */
const { connect } = Socket.prototype;
Socket.prototype.connect = function (this: Socket, ...args: unknown[]) {
  const [first] = args;
  const options = (Array.isArray(first) ? first[0] : first) as NetConnectOpts & { host?: string };
  if (options?.host === PUBLIC_ADDRESS) options.host = '127.0.0.1';
  return Reflect.apply(connect, this, args) as Socket;
};
