import type { Route } from './http/route.ts';
import { agencyBillingRoutes } from './routes/agency-billing.ts';
import { agencyClientRoutes } from './routes/agency-clients.ts';
import { agencyLineRoutes } from './routes/agency-lines.ts';
import { agencyMemberRoutes } from './routes/agency-members.ts';
import { agencyOverviewRoutes } from './routes/agency-overview.ts';
import { agencyWebhookRoutes } from './routes/agency-webhooks.ts';
import { analyticsRoutes } from './routes/analytics.ts';
import { attachmentRoutes } from './routes/attachments.ts';
import { agencyAuditLogRoutes, auditLogRoutes } from './routes/audit-log.ts';
import { availabilityRoutes } from './routes/availability.ts';
import { callRoutes } from './routes/calls.ts';
import { campaignLeadRoutes } from './routes/campaign-leads.ts';
import { campaignRoutes } from './routes/campaigns.ts';
import { carrierCallbackRoutes } from './routes/carrier-callbacks.ts';
import { conversationRoutes } from './routes/conversations.ts';
import { dripRoutes } from './routes/drip.ts';
import { emailPreferenceRoutes } from './routes/email-preferences.ts';
import { fallbackConfigRoutes } from './routes/fallback-config.ts';
import { fallbackSmsRoutes } from './routes/fallback-sms.ts';
import { importRoutes } from './routes/imports.ts';
import { inboxRoutes } from './routes/inbox.ts';
import { invitationRoutes } from './routes/invitations.ts';
import { agencyKeyRoutes, workspaceKeyRoutes } from './routes/keys.ts';
import { knowledgeBaseRoutes } from './routes/knowledge-base.ts';
import { leadRoutes } from './routes/leads.ts';
import { lineCarrierRoutes } from './routes/line-carriers.ts';
import { lineHealthRoutes } from './routes/line-health.ts';
import { lineRequestRoutes } from './routes/line-requests.ts';
import { lineRoutes } from './routes/lines.ts';
import { listRoutes } from './routes/lists.ts';
import { messageRoutes } from './routes/messages.ts';
import { notificationLinkRoutes } from './routes/notification-links.ts';
import { optOutRoutes } from './routes/opt-outs.ts';
import { paymentCallbackRoutes } from './routes/payment-callbacks.ts';
import { referenceRoutes } from './routes/reference.ts';
import { replyRoutes } from './routes/replies.ts';
import { simulatedRoutes } from './routes/simulated.ts';
import { systemRoutes } from './routes/system.ts';
import { teamRoutes } from './routes/team.ts';
import { unsubscribeRoutes } from './routes/unsubscribe.ts';
import { webhookDeliveryRoutes } from './routes/webhook-deliveries.ts';
import { webhookRoutes } from './routes/webhooks.ts';

/** Routes below the paths given, so that this list shows the whole API. @throws for a route below none of them. */
function at(paths: string | readonly string[], routes: readonly Route[]): readonly Route[] {
  const stray = routes.find((route) => ![paths].flat().some((path) => route.path.startsWith(path)));
  if (stray) throw new Error(`${stray.path} is below none of ${[paths].flat().join(', ')}`);
  return routes;
}

/** The whole API. A new resource is one file in `routes/` and one line here. */
export const routes: readonly Route[] = [
  ...at('/api/messages', messageRoutes),
  ...at('/api/drip', dripRoutes),

  ...at('/api/replies', replyRoutes),
  ...at('/api/conversations', conversationRoutes),
  ...at('/api/inbox', inboxRoutes),
  ...at('/api/knowledge-base', knowledgeBaseRoutes),
  ...at('/api/opt-outs', optOutRoutes),
  ...at('/api/voice', callRoutes),
  ...at(['/api/attachments', '/attachments'], attachmentRoutes),

  ...at('/api/lines', lineRoutes),
  ...at('/api/lines', lineHealthRoutes),
  ...at('/api/lines', lineCarrierRoutes),
  ...at('/api/line-requests', lineRequestRoutes),

  ...at(['/api/leads/check-availability', '/api/check-availability-rr'], availabilityRoutes),
  ...at('/api/leads', leadRoutes),
  ...at('/api/lists', listRoutes),
  ...at('/api/lists', importRoutes),
  ...at('/api/campaigns', campaignRoutes),
  ...at('/api/campaigns', campaignLeadRoutes),

  ...at('/api/webhooks', webhookRoutes),
  ...at('/api/webhooks', webhookDeliveryRoutes),
  ...at('/api/workspace/fallback-config', fallbackConfigRoutes),
  ...at('/api/fallback-sms', fallbackSmsRoutes),
  ...at('/api/analytics', analyticsRoutes),
  ...at('/api/email-preferences', emailPreferenceRoutes),
  ...at('/api/team', teamRoutes),
  ...at('/invitations', invitationRoutes),
  ...at('/api/keys', workspaceKeyRoutes),
  ...at('/api/audit-log', auditLogRoutes),

  ...at('/api/agency/keys', agencyKeyRoutes),
  ...at('/api/agency/audit-log', agencyAuditLogRoutes),
  ...at(['/api/agency/subaccounts', '/api/agency/email-preferences'], agencyClientRoutes),
  ...at('/api/agency/lines', agencyLineRoutes),
  ...at('/api/agency/overview', agencyOverviewRoutes),
  ...at('/api/agency/webhooks', agencyWebhookRoutes),
  ...at('/api/agency/billing', agencyBillingRoutes),
  ...at(
    ['/api/agency/members', '/api/agency/admins', '/api/agency/invitations', '/api/agency/billing'],
    agencyMemberRoutes,
  ),

  ...at('/unsubscribe', unsubscribeRoutes),
  ...at('/notifications', notificationLinkRoutes),
  ...at('/callbacks/carriers', carrierCallbackRoutes),
  ...at('/callbacks/payments', paymentCallbackRoutes),
  ...at('/simulated', simulatedRoutes),

  ...at(['/healthz', '/readyz', '/metrics'], systemRoutes),
  ...at(
    ['/openapi.json', '/docs'],
    referenceRoutes(() => routes),
  ),
];
