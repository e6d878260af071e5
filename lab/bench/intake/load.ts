import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'undici';

/*
 * Sends drips over a number of connections for some seconds, each as soon as the previous response has arrived, or at
 * `rate` a second in all; a request that starts late is measured from when it was due. Usage:
 * node lab/bench/intake/load.ts '{"url", "keys", "connections", "seconds", "rate"?}', with an IPC channel, over which it sends
 * { requests, refused, latencies: {p50, p99} } in milliseconds.
 */
const { url, keys, connections, seconds, rate } = JSON.parse(process.argv[2] ?? '') as {
  url: string;
  keys: string[];
  connections: number;
  seconds: number;
  rate?: number;
};
const pool = new Pool(url, { connections, pipelining: 1 });
const latencies: number[] = [];
let refused = 0;
let serial = 0;
const run = Math.floor(Math.random() * 1e6);

async function caller(index: number, end: number): Promise<void> {
  while (performance.now() < end) {
    serial += 1;
    const number = serial;
    const due = rate === undefined ? performance.now() : start + (number * 1000) / rate;
    if (due >= end) return;
    if (due > performance.now()) await pause(due - performance.now());
    const phone = `+1415${String((run * 7919 + number) % 10_000_000).padStart(7, '0')}`;
    const { statusCode, body } = await pool.request({
      method: 'POST',
      path: '/api/drip',
      headers: {
        authorization: `Bearer ${keys[index % keys.length]}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ recipientPhone: phone, message: `Hello, this is message ${run}-${number}.` }),
    });
    await body.dump();
    latencies.push(performance.now() - due);
    if (statusCode !== 202) refused += 1;
  }
}

const start = performance.now();
const end = start + seconds * 1000;
await Promise.all(Array.from({ length: connections }, (_, index) => caller(index, end)));
await pool.close();
latencies.sort((a, b) => a - b);
const percentile = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? 0;
process.send?.({ requests: latencies.length, refused, p50: percentile(0.5), p99: percentile(0.99) });
process.disconnect?.();
