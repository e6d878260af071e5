import { createHmac, randomUUID } from 'node:crypto';
import { Command } from 'commander';
import { Linepace } from '#sdk/typescript/src/index.ts';
import { CommandFailed, EXIT } from '../exit-code.ts';
import { globalOptions, printable } from '../output.ts';
import { credentials, isWebAddress } from '../profiles.ts';

interface Options {
  forwardTo?: string;
  print?: boolean;
  events?: string[];
}

const TIMEOUT_MS = 10_000;

export const listen = (): Command =>
  new Command('listen')
    .description('Receive events as they happen, and forward them to a local server as signed webhooks.')
    .option('--forward-to <url>', 'where to POST each event')
    .option('--print', 'print each event, also when they are forwarded')
    .option('--events <names...>', 'only these events')
    .action(async ({ forwardTo, print, events }: Options, command: Command) => {
      if (forwardTo !== undefined && !isWebAddress(forwardTo))
        throw new CommandFailed(
          `--forward-to ${forwardTo} is not a URL that begins with http:// or https://`,
          EXIT.USAGE,
        );
      const { url, apiKey } = await credentials(globalOptions(command).profile);
      const secret = secretOf(apiKey);
      console.error(forwardTo === undefined ? 'Ready.' : `Ready. Deliveries are signed with ${secret}`);
      for await (const { id, event, data } of new Linepace({ baseUrl: url, apiKey }).stream()) {
        // Webhooks never receive this event, and it has no id to sign.
        if (event === 'stream.reset') {
          console.error('Events may be missing: the stream could not resume where the connection was lost.');
          continue;
        }
        if (events !== undefined && !events.includes(event)) continue;
        if (print || forwardTo === undefined) console.log(printable(JSON.stringify(data)));
        if (forwardTo !== undefined)
          console.error(`${event} ${id} → ${await forward(forwardTo, secret, id, event, data)}`);
      }
    });

/** The same for a key each time, so that a local server is configured once. */
const secretOf = (apiKey: string): string =>
  `whsec_${createHmac('sha256', apiKey).update('linepace listen').digest('base64')}`;

/** Delivers an event with the headers of a webhook. @returns the status of the response, or why there is none. */
async function forward(
  url: string,
  secret: string,
  id: string,
  event: string,
  data: unknown,
): Promise<string> {
  const body = JSON.stringify(data);
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = `v1,${createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
    .update(`${id}.${timestamp}.${body}`)
    .digest('base64')}`;
  const headers = {
    'Content-Type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signature,
    'X-Svc-Event': event,
    'X-Svc-Event-Id': id,
    'X-Svc-Delivery-Id': randomUUID(),
    'X-Svc-Timestamp': timestamp,
    'X-Svc-Signature': signature,
  };
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    await response.body?.cancel();
    return String(response.status);
  } catch (error) {
    return `failed: ${error instanceof Error ? error.message : String(error)}`;
  }
}
