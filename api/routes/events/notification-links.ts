import type { Context } from 'koa';
import { isMuted, setMuted } from '#db/commands/events/notifications.ts';
import { withTenant } from '#db/connection/transactions.ts';
import type { NotificationKind } from '#domain/events/notification.ts';
import { html } from '#providers/mail/html.ts';
import { createTurnOffLinks } from '#providers/turn-off-link.ts';
import { readForm } from '#api/http/body.ts';
import { publicRoute } from '#api/http/route.ts';
import { PAGE_RESPONSES, refuseLink, showPage } from '#api/http/small-page.ts';
import type { Services } from '#api/services.ts';

const NAMES: Record<NotificationKind, string> = {
  reply: 'reply alerts',
  campaign: 'campaign summaries',
  billing: 'billing emails',
  system_error: 'error reports',
};

export const notificationLinkRoutes = [
  /** The page only asks for confirmation, because mail scanners open every link (RFC 8058, section 3.2). */
  publicRoute({
    id: 'notificationPage',
    method: 'GET',
    path: '/notifications/{token}',
    tag: 'Email preferences',
    summary: 'Show a page that asks whether to turn off a kind of notification email',
    contentTypes: PAGE_RESPONSES,
    async respond(context, services) {
      const target = targetOf(context, services);
      if (!target) return refuseLink(context, services);
      const { workspaceId, userId, kind } = target;
      const muted = await withTenant(services.pools, workspaceId, (db) => isMuted(db, userId, kind));
      showState(context, kind, muted);
    },
  }),

  /** Called by mail clients (`List-Unsubscribe=One-Click`) and by the page, which can also undo it. */
  publicRoute({
    id: 'turnOffNotifications',
    method: 'POST',
    path: '/notifications/{token}',
    tag: 'Email preferences',
    summary:
      'Turn off a kind of notification email for its recipient (RFC 8058); `state=on` turns it on again',
    errors: ['BODY_TOO_LARGE'],
    contentTypes: PAGE_RESPONSES,
    async respond(context, services) {
      const target = targetOf(context, services);
      if (!target) return refuseLink(context, services);
      const { workspaceId, userId, kind } = target;
      const muted = (await readForm(context)).get('state') !== 'on';
      await withTenant(services.pools, workspaceId, (db) => setMuted(db, userId, kind, muted));
      showState(context, kind, muted);
    },
  }),
];

function showState(context: Context, kind: NotificationKind, muted: boolean): void {
  const name = NAMES[kind];
  if (muted) {
    const again = html`<form method="post">
      <button name="state" value="on">Turn them on again</button>
    </form>`;
    return showPage(context, 200, html`You no longer receive ${name}`, again);
  }
  showPage(
    context,
    200,
    html`Turn ${name} off?`,
    html`<form method="post"><button name="state" value="off">Turn them off</button></form>`,
  );
}

const targetOf = (context: Context, { config, signer }: Services) =>
  createTurnOffLinks(config.publicUrl, signer).read(
    (context['params'] as Record<string, string>)['token'] ?? '',
  );
