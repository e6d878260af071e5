import { type NetConnectOpts, Socket } from 'node:net';
import { arrivesAt } from './public-address.ts';

/*
 * Redirects connections to the public addresses to loopback. The process still resolves and checks addresses as it always
 * does; only the connection itself goes elsewhere.
 */
const { connect } = Socket.prototype;
Socket.prototype.connect = function (this: Socket, ...args: unknown[]) {
  const [first] = args;
  const options = (Array.isArray(first) ? first[0] : first) as NetConnectOpts & { host?: string };
  const loopback = arrivesAt(options?.host);
  if (loopback !== null) options.host = loopback;
  return Reflect.apply(connect, this, args) as Socket;
};
