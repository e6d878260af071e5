import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { RESULT } from './world/part.ts';

/**
 * `npm run prove -- world`: runs the product against the real software around it, and prints a table of what held. Each part is
 * installed from its package registry if it is missing, and skipped if it cannot be. `--documents DIRECTORY` is passed to
 * `twilio-contract`; names select parts.
 */
const PARTS = [
  'twilio-contract',
  'stripe-contract',
  'vendor-clients',
  'mailbox',
  'mail-server',
  'storage-server',
  'keycloak',
  'pgbouncer',
  'collector',
  'client-generators',
  'n8n',
  'first-run',
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { documents: { type: 'string' } },
});
const unknown = positionals.filter((name) => !PARTS.includes(name));
if (unknown.length > 0) throw new Error(`there is no ${unknown.join()}; there are: ${PARTS.join()}`);

const results: { part: string; result: string; details: string }[] = [];
for (const part of PARTS.filter((name) => positionals.length === 0 || positionals.includes(name))) {
  console.log(`\n== ${part}`);
  const args =
    part === 'twilio-contract' && values.documents !== undefined ? ['--documents', values.documents] : [];
  const child = spawn(process.execPath, [fileURLToPath(new URL(`./${part}.ts`, import.meta.url)), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  let last: string | null = null;
  for await (const line of createInterface({ input: child.stdout })) {
    console.log(line);
    if (RESULT.test(line)) last = line;
  }
  const [code] = (await ended) as [number | null];
  const [, result = 'fails', , details = `ended with ${code}`] = RESULT.exec(last ?? '') ?? [];
  results.push({ part, result: code === 0 ? result : 'fails', details });
}
console.log('');
for (const { part, result, details } of results)
  console.log(`${result.padEnd(8)} ${part.padEnd(22)} ${details}`);
process.exitCode = results.some(({ result }) => result === 'fails') ? 1 : 0;
