// Usage: node verify.ts < body, with the headers and the secret in the environment. Exit code 1: not from Linepace.
import { text } from 'node:stream/consumers';
import { webhooks } from 'linepace';

const { WEBHOOK_ID, WEBHOOK_TIMESTAMP, WEBHOOK_SIGNATURE, WEBHOOK_SECRET = '' } = process.env;
const headers = {
  'webhook-id': WEBHOOK_ID,
  'webhook-timestamp': WEBHOOK_TIMESTAMP,
  'webhook-signature': WEBHOOK_SIGNATURE,
};
try {
  const event = await webhooks.unwrap(await text(process.stdin), headers, WEBHOOK_SECRET);
  console.log(event.event);
} catch {
  process.exitCode = 1;
}
