import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Worker } from 'node:worker_threads';
import type { Body } from './worst-bodies.ts';

/** Counts requests in a number that both threads see. It has a thread of its own, so that only reading its responses takes time here. */
const SERVER = `
const { createServer } = require('node:http');
const { parentPort, workerData } = require('node:worker_threads');
let body = null;
let fixed = {};
parentPort.on('message', ([next, paths]) => { body = next; fixed = paths; parentPort.postMessage('taken'); });
createServer((request, response) => {
  Atomics.add(workerData, 0, 1);
  request.resume();
  request.on('end', () => response.writeHead(body.status ?? 200, body.headers).end(fixed[request.url] ?? body.content));
}).listen(0, '127.0.0.1', function () { parentPort.postMessage(this.address()); });
`;

/** A server that answers requests with one body. */
export async function answering() {
  const count = new Int32Array(new SharedArrayBuffer(4));
  const server = new Worker(SERVER, { eval: true, workerData: count });
  const [{ port }] = (await once(server, 'message')) as [AddressInfo];
  return {
    url: `http://127.0.0.1:${port}`,
    /** @param fixed answers that stay, by path. */
    async answerWith(body: Body & { status?: number }, fixed: Record<string, string> = {}): Promise<void> {
      Atomics.store(count, 0, 0);
      server.postMessage([body, fixed], []);
      await once(server, 'message');
    },
    /** How often it was asked since its answer was set. */
    asked: () => Atomics.load(count, 0),
    stop: () => server.terminate(),
  };
}
