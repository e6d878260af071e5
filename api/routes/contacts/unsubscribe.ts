import type { Context } from 'koa';
import { currentTime } from '#domain/base/clock.ts';
import { findMessage } from '#db/queries/messages/messages.ts';
import { byContact, optOut } from '#db/commands/contacts/opt-outs.ts';
import { shownAddress } from '#db/queries/contacts/erasures.ts';
import { isOptedOut } from '#db/queries/contacts/opt-outs.ts';
import { withTenant } from '#db/connection/transactions.ts';
import { html } from '#providers/mail/html.ts';
import { createUnsubscribeLinks } from '#providers/unsubscribe-link.ts';
import { publicRoute } from '#api/http/route.ts';
import { PAGE_RESPONSES, refuseLink, showPage } from '#api/http/small-page.ts';
import type { Services } from '#api/services.ts';

export const unsubscribeRoutes = [
  /** The page only asks for confirmation, because mail scanners open every link (RFC 8058, section 3.2). */
  publicRoute({
    id: 'unsubscribePage',
    method: 'GET',
    path: '/unsubscribe/{token}',
    tag: 'Opt-outs',
    summary: 'Show a page that asks whether to unsubscribe',
    contentTypes: PAGE_RESPONSES,
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

  /** Called by mail clients (`List-Unsubscribe=One-Click`) and by the page. */
  publicRoute({
    id: 'unsubscribe',
    method: 'POST',
    path: '/unsubscribe/{token}',
    tag: 'Opt-outs',
    summary: 'Opt out the recipient of an email (RFC 8058)',
    contentTypes: PAGE_RESPONSES,
    async respond(context, services) {
      const found = await recipientOf(context, services);
      if (!found) return refuseLink(context, services);
      const { workspaceId, address, messageId } = found;
      const now = currentTime();
      await withTenant(services.pools, workspaceId, (db) =>
        optOut(db, address, { source: 'unsubscribe', at: now, now, author: byContact(messageId) }),
      );
      showPage(context, 200, html`You are unsubscribed`);
    },
  }),
];

async function recipientOf(context: Context, { config, signer, pools }: Services) {
  const { token = '' } = context['params'] as Record<string, string>;
  const target = createUnsubscribeLinks(config.publicUrl, signer).read(token);
  if (!target) return null;
  return withTenant(pools, target.workspaceId, async (db) => {
    const message = await findMessage(db, target.messageId);
    return message && { ...target, address: await shownAddress(db, message) };
  });
}
