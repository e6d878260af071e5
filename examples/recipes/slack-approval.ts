/**
 * Shows AI drafts in a Slack channel, with buttons that approve or reject them.
 *
 * 1. Register a webhook for `message.ai_draft` at http://…/drafts. Its secret is LINEPACE_WEBHOOK_SECRET.
 * 2. Create a Slack app with an incoming webhook (SLACK_WEBHOOK_URL) and interactivity at http://…/slack. Its signing secret
 *    is SLACK_SIGNING_SECRET.
 *
 * Everybody in the channel may approve: make it a private one.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { Linepace, LinepaceError, webhooks } from 'linepace';

const {
  LINEPACE_WEBHOOK_SECRET = '',
  SLACK_WEBHOOK_URL = '',
  SLACK_SIGNING_SECRET = '',
  PORT = '8080',
} = process.env;
for (const [name, value] of Object.entries({
  LINEPACE_WEBHOOK_SECRET,
  SLACK_WEBHOOK_URL,
  SLACK_SIGNING_SECRET,
}))
  // With an empty secret, anybody could sign an approval.
  if (value === '') throw new Error(`${name} is not set`);
const linepace = new Linepace();

const server = createServer(async (request, response) => {
  const body = await text(request);
  const status = request.url === '/drafts' ? await showDraft(request, body) : await decide(request, body);
  response.writeHead(status).end();
});

/** A draft waits: shows it in the channel. */
async function showDraft({ headers }: IncomingMessage, body: string): Promise<number> {
  const event = await webhooks.unwrap(body, headers, LINEPACE_WEBHOOK_SECRET);
  if (event.event !== 'message.ai_draft') return 204;
  const { replyId, inboundText, draftMessage } = event.data;
  const button = (label: string, action: string, style: string) => ({
    type: 'button',
    text: { type: 'plain_text', text: label },
    action_id: action,
    style,
    value: replyId,
  });
  const sent = await fetch(SLACK_WEBHOOK_URL, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      text: draftMessage,
      blocks: [
        { type: 'section', text: { type: 'plain_text', text: `They wrote: ${inboundText}` } },
        { type: 'section', text: { type: 'plain_text', text: draftMessage } },
        {
          type: 'actions',
          elements: [button('Send', 'approve', 'primary'), button('Drop', 'reject', 'danger')],
        },
      ],
    }),
  });
  return sent.ok ? 204 : 502;
}

interface Interaction {
  actions: [{ action_id: 'approve' | 'reject'; value: string }];
  response_url: string;
}

/** Somebody clicked: the first decision wins, here, in the console or over the API. */
async function decide({ headers }: IncomingMessage, body: string): Promise<number> {
  if (!isFromSlack(headers, body)) return 401;
  const { actions, response_url } = JSON.parse(
    new URLSearchParams(body).get('payload') ?? '{}',
  ) as Interaction;
  const [{ action_id: action, value: replyId }] = actions;
  const outcome = await linepace.aiDrafts.resolveAutoReply({ replyId, action }).then(
    ({ status }) => `The draft is ${status}.`,
    (error: unknown) => {
      if (error instanceof LinepaceError && error.code === 'DRAFT_ALREADY_RESOLVED')
        return `Somebody else was first: the draft is ${String(error.body.status)}.`;
      throw error;
    },
  );
  await fetch(response_url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ replace_original: true, text: outcome }),
  });
  return 200;
}

/** https://docs.slack.dev/authentication/verifying-requests-from-slack */
function isFromSlack(headers: IncomingMessage['headers'], body: string): boolean {
  const timestamp = String(headers['x-slack-request-timestamp']);
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) < 300)) return false;
  const expected = createHmac('sha256', SLACK_SIGNING_SECRET).update(`v0:${timestamp}:${body}`).digest();
  const received = Buffer.from(String(headers['x-slack-signature']).replace(/^v0=/, ''), 'hex');
  return expected.length === received.length && timingSafeEqual(expected, received);
}

server.listen(Number(PORT), () => console.log('ready'));
