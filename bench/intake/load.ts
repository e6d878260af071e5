import { Pool } from 'undici';

/*
 * Sends drips over a number of connections for some seconds, each as soon as the previous response has arrived. Usage:
 * node bench/intake/load.ts '{"url", "keys", "connections", "seconds"}', with an IPC channel, over which it sends
 * { requests, refused, latencies: {p50, p99} } in milliseconds.
 */
const { url, keys, connections, seconds } = JSON.parse(process.argv[2] ?? '') as {
  url: string;
  keys: string[];
  connections: number;
  seconds: number;
};
const pool = new Pool(url, { connections, pipelining: 1 });
const latencies: number[] = [];
let refused = 0;
let serial = 0;
const run = Math.floor(Math.random() * 1e6);

async function caller(index: number, end: number): Promise<void> {
  while (performance.now() < end) {
    serial += 1;
    const phone = `+1415${String((run * 7919 + serial) % 10_000_000).padStart(7, '0')}`;
    const began = performance.now();
    const { statusCode, body } = await pool.request({
      method: 'POST',
      path: '/api/drip',
      headers: {
        authorization: `Bearer ${keys[index % keys.length]}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ recipientPhone: phone, message: `Hello, this is message ${run}-${serial}.` }),
    });
    await body.dump();
    latencies.push(performance.now() - began);
    if (statusCode !== 202) refused += 1;
  }
}

const end = performance.now() + seconds * 1000;
await Promise.all(Array.from({ length: connections }, (_, index) => caller(index, end)));
await pool.close();
latencies.sort((a, b) => a - b);
const percentile = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? 0;
process.send?.({ requests: latencies.length, refused, p50: percentile(0.5), p99: percentile(0.99) });
process.disconnect?.();
