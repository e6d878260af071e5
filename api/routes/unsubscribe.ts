import type { Context } from 'koa';
import { findMessage } from '#db/queries/messages.ts';
import { isOptedOut, optOut } from '#db/commands/sending/opt-outs.ts';
import { withTenant } from '#db/transactions.ts';
import { html } from '#providers/mail/html.ts';
import { createUnsubscribeLinks } from '#providers/unsubscribe-link.ts';
import { publicRoute } from '../http/route.ts';
import { PAGE_ANSWERS, refuseLink, showPage } from '../http/small-page.ts';
import type { Services } from '../services.ts';

export const unsubscribeRoutes = [
  /** For a person: mail scanners fetch every link, so the page only asks (RFC 8058 §3.2). */
  publicRoute({
    id: 'unsubscribePage',
    method: 'GET',
    path: '/unsubscribe/{token}',
    tag: 'Opt-outs',
    summary: 'A page that asks whether to unsubscribe; opening it changes nothing',
    answers: PAGE_ANSWERS,
    async respond(context, services) {
      const found = await recipientOf(context, services);
      if (!found) return refuseLink(context, services);
      const done = await withTenant(services.pools, found.workspaceId, (db) => isOptedOut(db, found.address));
      if (done) return showPage(context, 200, html`You are unsubscribed`);
      showPage(
        context,
        200,
        html`Unsubscribe?`,
        html`<form method="post"><button>Unsubscribe</button></form>`,
      );
    },
  }),

  /** By the mail program with one click, or by the page's button; the body (`List-Unsubscribe=One-Click`) adds nothing. */
  publicRoute({
    id: 'unsubscribe',
    method: 'POST',
    path: '/unsubscribe/{token}',
    tag: 'Opt-outs',
    summary: 'Opt the recipient of an email out of the workspace (RFC 8058)',
    answers: PAGE_ANSWERS,
    async respond(context, services) {
      const found = await recipientOf(context, services);
      if (!found) return refuseLink(context, services);
      const { workspaceId, address } = found;
      const now = new Date();
      await withTenant(services.pools, workspaceId, (db) =>
        optOut(db, address, { source: 'unsubscribe', at: now, now }),
      );
      showPage(context, 200, html`You are unsubscribed`);
    },
  }),
];

async function recipientOf(context: Context, { config, signer, pools }: Services) {
  const { token = '' } = context['params'] as Record<string, string>;
  const target = createUnsubscribeLinks(config.publicUrl, signer).read(token);
  if (!target) return null;
  const message = await withTenant(pools, target.workspaceId, (db) => findMessage(db, target.messageId));
  return message && { workspaceId: target.workspaceId, address: message.address };
}
