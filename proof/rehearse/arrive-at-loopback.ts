import { type NetConnectOpts, Socket } from 'node:net';
import { arrivesAt } from './public-address.ts';

/*
 * Connections to the public addresses arrive at loopback. The process resolves and checks addresses as always, and only the
 * last step is another.
 */
const { connect } = Socket.prototype;
Socket.prototype.connect = function (this: Socket, ...args: unknown[]) {
  const [first] = args;
  const options = (Array.isArray(first) ? first[0] : first) as NetConnectOpts & { host?: string };
  const loopback = arrivesAt(options?.host);
  if (loopback !== null) options.host = loopback;
  return Reflect.apply(connect, this, args) as Socket;
};
