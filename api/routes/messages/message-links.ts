import { recordClick } from '#db/commands/messages/message-links.ts';
import { findLink } from '#db/queries/messages/message-links.ts';
import { withTenant } from '#db/connection/transactions.ts';
import { currentTime } from '#domain/base/clock.ts';
import { isByPerson, workspaceOfLink } from '#domain/messages/message-link.ts';
import { clientAddress } from '#api/http/client-address.ts';
import { publicRoute } from '#api/http/route.ts';
import { refuseLink } from '#api/http/small-page.ts';

export const messageLinkRoutes = [
  publicRoute({
    id: 'followMessageLink',
    method: 'GET',
    path: '/l/{token}',
    tag: 'Campaigns',
    summary: 'Follow a link of a message whose campaign asks about `clicked`',
    contentTypes: { 302: null, 404: 'text/html' },
    async respond(context, services) {
      const { token = '' } = context['params'] as Record<string, string>;
      const workspaceId = workspaceOfLink(token);
      if (workspaceId === null) return refuseLink(context, services);
      const link = await withTenant(services.pools, workspaceId, (db) => findLink(db, token));
      if (!link) return refuseLink(context, services);
      const isCounted =
        isByPerson(context.method, (name) => context.get(name)) &&
        (await services.rateLimits.countsVisit(clientAddress(context), token));
      if (isCounted)
        await withTenant(services.pools, workspaceId, (db) => recordClick(db, token, currentTime())).catch(
          // The page matters more than the count, for example while the database is read-only.
          (error: unknown) => services.logger.warn({ err: error }, 'a click was not counted'),
        );
      context.set({
        'Cache-Control': 'no-store',
        'Referrer-Policy': 'no-referrer',
        'X-Robots-Tag': 'noindex',
      });
      context.redirect(link.url);
    },
  }),
];
