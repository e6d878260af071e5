import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import { z } from 'zod';
import { parseOwnJson } from '../../domain/base/own-json.ts';
import { freePort } from '../../providers/free-port.ts';
import { recordTwilioRequests } from '../../test/support/twilio-requests.ts';
import { TWILIO_ACCOUNT } from '../../test/support/twilio.ts';
import { conclude } from './world/part.ts';

/**
 * Sends all kinds of requests that are made to Twilio to Prism, which validates them against Twilio's OpenAPI documents:
 * `npm run prove -- twilio-contract --documents DIRECTORY`, where DIRECTORY is `spec/json` of a clone of
 * github.com/twilio/twilio-oai. Prism is installed from npm for the run. Skipped if either is missing.
 */
const { values } = parseArgs({ options: { documents: { type: 'string' } } });
const PRISM = '@stoplight/prism-cli@5';
const START_MS = 120_000;
const run = promisify(execFile);
const Answer = z.object({
  validation: z.array(z.object({ location: z.array(z.string()), message: z.string() })).optional(),
});

const DOCUMENTS = [
  { file: 'twilio_api_v2010.json', prefix: '/2010-04-01/' },
  { file: 'twilio_messaging_v1.json', prefix: '/v1/' },
];

function skip(reason: string): never {
  conclude('skipped', 'twilio-contract', reason);
  process.exit(0);
}

const directory = values.documents;
if (directory === undefined) skip('name the documents with --documents DIRECTORY');
const absent = DOCUMENTS.find(({ file }) => !existsSync(join(directory, file)));
if (absent) skip(`${directory} has no ${absent.file}`);
const folder = await mkdtemp(join(tmpdir(), 'linepace-prism-'));
try {
  await run('npm', ['install', '--no-audit', '--no-fund', '--prefix', folder, PRISM]);
} catch (error) {
  await rm(folder, { recursive: true, force: true });
  skip(
    `${PRISM} cannot be installed: ${error instanceof Error ? error.message.split('\n', 1)[0] : 'unknown error'}`,
  );
}

const requests = await recordTwilioRequests();
const authorization = `Basic ${Buffer.from(`${TWILIO_ACCOUNT.sid}:${TWILIO_ACCOUNT.authToken}`).toString('base64')}`;
const problems: string[] = [];
let checked = 0;
for (const { file, prefix } of DOCUMENTS) {
  const port = await freePort();
  const prism = spawn(
    join(folder, 'node_modules', '.bin', 'prism'),
    ['mock', '--port', String(port), '--errors', join(directory, file)],
    { stdio: 'ignore' },
  );
  try {
    const url = `http://127.0.0.1:${port}`;
    await untilItResponds(url);
    for (const { method, path, body } of requests.filter((request) => request.path.startsWith(prefix))) {
      const headers = {
        authorization,
        accept: 'application/json',
        ...(body !== '' && { 'content-type': 'application/x-www-form-urlencoded' }),
      };
      const response = await fetch(url + path, { method, headers, ...(body !== '' && { body }) });
      checked += 1;
      const text = await response.text();
      if (response.status >= 400 && !isAboutResponse(text))
        problems.push(`${method} ${path} ${body}: ${text}`);
    }
  } finally {
    prism.kill();
  }
}
await rm(folder, { recursive: true, force: true });
console.log(`${checked} requests checked, ${problems.length} invalid`);
for (const problem of problems) console.error(problem);
conclude(
  problems.length > 0 || checked === 0 ? 'fails' : 'holds',
  'twilio-contract',
  `${PRISM}, ${checked} requests, ${problems.length} invalid`,
);

/**
 * Prism also finds fault with the examples that it responds with, and does not read the repeated fields of a form as a list, as
 * Twilio and its libraries do.
 */
function isAboutResponse(text: string): boolean {
  const { validation = [] } = Answer.parse(parseOwnJson(text));
  const isExcused = ({ location: [part], message }: (typeof validation)[number]): boolean =>
    part === 'response' || message.endsWith('MediaUrl must be array');
  return validation.length > 0 && validation.every(isExcused);
}

async function untilItResponds(url: string): Promise<void> {
  const end = Date.now() + START_MS;
  for (;;) {
    if (
      await fetch(url).then(
        () => true,
        () => false,
      )
    )
      return;
    if (Date.now() > end) throw new Error('Prism does not respond');
    await pause(200);
  }
}
