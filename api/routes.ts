import type { Route } from './http/route.ts';
import { agencyBillingRoutes } from './routes/agency-billing.ts';
import { agencyClientRoutes } from './routes/agency-clients.ts';
import { agencyKeyRoutes } from './routes/agency-keys.ts';
import { agencyLineRoutes } from './routes/agency-lines.ts';
import { agencyMemberRoutes } from './routes/agency-members.ts';
import { agencyOverviewRoutes } from './routes/agency-overview.ts';
import { agencySuppressionRoutes } from './routes/agency-suppressions.ts';
import { agencyWebhookRoutes } from './routes/agency-webhooks.ts';
import { analyticsRoutes } from './routes/analytics.ts';
import { attachmentRoutes } from './routes/attachments.ts';
import { agencyAuditLogRoutes, auditLogRoutes } from './routes/audit-log.ts';
import { attentionRoutes } from './routes/attention.ts';
import { availabilityRoutes } from './routes/availability.ts';
import { callRoutes } from './routes/calls.ts';
import { campaignCheckRoutes } from './routes/campaign-check.ts';
import { campaignFunnelRoutes } from './routes/campaign-funnel.ts';
import { campaignLeadRoutes } from './routes/campaign-leads.ts';
import { campaignRoutes } from './routes/campaigns.ts';
import { carrierCallbackRoutes } from './routes/carrier-callbacks.ts';
import { complianceRoutes } from './routes/compliance.ts';
import { consentRoutes } from './routes/consents.ts';
import { consoleSessionRoutes } from './routes/console-session.ts';
import { consoleRoutes, inboxLinkRoutes } from './routes/console.ts';
import { contactExportRoutes } from './routes/contact-export.ts';
import { conversationNoteRoutes } from './routes/conversation-notes.ts';
import { conversationPresenceRoutes } from './routes/conversation-presence.ts';
import { conversationRoutes } from './routes/conversations.ts';
import { dripRoutes } from './routes/drip.ts';
import { emailPreferenceRoutes } from './routes/email-preferences.ts';
import { eventStreamRoutes } from './routes/event-stream.ts';
import { fallbackConfigRoutes } from './routes/fallback-config.ts';
import { fallbackSmsRoutes } from './routes/fallback-sms.ts';
import { campaignForecastRoutes, forecastRoutes } from './routes/forecast.ts';
import { importRoutes } from './routes/imports.ts';
import { inboxRoutes } from './routes/inbox.ts';
import { installationRoutes } from './routes/installation.ts';
import { invitationRoutes } from './routes/invitations.ts';
import { workspaceKeyRoutes } from './routes/keys.ts';
import { knowledgeBaseRoutes } from './routes/knowledge-base.ts';
import { leadRoutes } from './routes/leads.ts';
import { lineCarrierRoutes } from './routes/line-carriers.ts';
import { lineConnectionTestRoutes } from './routes/line-connection-tests.ts';
import { lineHealthRoutes } from './routes/line-health.ts';
import { linePaceRoutes } from './routes/line-pace.ts';
import { emailAuthenticationRoutes } from './routes/email-authentication.ts';
import { linePauseRoutes } from './routes/line-pause.ts';
import { lineReputationRoutes } from './routes/line-reputation.ts';
import { lineRequestRoutes } from './routes/line-requests.ts';
import { lineRoutes } from './routes/lines.ts';
import { listRoutes } from './routes/lists.ts';
import { mcpRoutes } from './routes/mcp.ts';
import { messageRoutes } from './routes/messages.ts';
import { notificationLinkRoutes } from './routes/notification-links.ts';
import { poolRoutes } from './routes/pools.ts';
import { optOutHistoryRoutes } from './routes/opt-out-history.ts';
import { optOutSuspicionRoutes } from './routes/opt-out-suspicions.ts';
import { optOutRoutes } from './routes/opt-outs.ts';
import { operationsRoutes } from './routes/operations.ts';
import { passkeyRoutes, passkeySignInRoutes } from './routes/passkeys.ts';
import { payloadCodecRoutes } from './routes/payload-codec.ts';
import { paymentCallbackRoutes } from './routes/payment-callbacks.ts';
import { quietHoursRoutes } from './routes/quiet-hours.ts';
import { referenceRoutes } from './routes/reference.ts';
import { replyRoutes } from './routes/replies.ts';
import { setupRoutes } from './routes/setup.ts';
import { simulatedRoutes } from './routes/simulated.ts';
import { requestRoutes } from './routes/requests.ts';
import { sessionRoutes } from './routes/sessions.ts';
import { signInRoutes } from './routes/sign-in.ts';
import { signInLinkRoutes } from './routes/sign-in-links.ts';
import { savedFilterRoutes } from './routes/saved-filters.ts';
import { snippetRoutes } from './routes/snippets.ts';
import { systemRoutes } from './routes/system.ts';
import { limitRoutes } from './routes/limits.ts';
import { teamInvitationRoutes } from './routes/team-invitations.ts';
import { teamMemberRoutes } from './routes/team-members.ts';
import { testClockRoutes } from './routes/test-clock.ts';
import { testModeRoutes } from './routes/test-mode.ts';
import { unsubscribeRoutes } from './routes/unsubscribe.ts';
import { webhookDeliveryRoutes } from './routes/webhook-deliveries.ts';
import { webhookRoutes } from './routes/webhooks.ts';
import { workspaceRoutes } from './routes/workspace.ts';

/** Asserts that routes are below the given paths, so that the list below shows the whole API. */
function under(paths: string | readonly string[], routes: readonly Route[]): readonly Route[] {
  const stray = routes.find((route) => ![paths].flat().some((path) => route.path.startsWith(path)));
  if (stray) throw new Error(`${stray.path} is not below ${[paths].flat().join(' or ')}`);
  return routes;
}

/** The whole API. A new resource is one file in `routes/` and one line here. */
export const routes: readonly Route[] = [
  ...under('/api/messages', messageRoutes),
  ...under('/api/drip', dripRoutes),

  ...under('/api/replies', replyRoutes),
  ...under('/api/conversations', [
    ...conversationRoutes,
    ...conversationNoteRoutes,
    ...conversationPresenceRoutes,
  ]),
  ...under('/api/attention', attentionRoutes),
  ...under('/api/inbox', inboxRoutes),
  ...under('/api/snippets', snippetRoutes),
  ...under('/api/saved-filters', savedFilterRoutes),
  ...under('/api/knowledge-base', knowledgeBaseRoutes),
  ...under('/api/opt-outs/suspected', optOutSuspicionRoutes),
  ...under('/api/opt-outs', [...optOutHistoryRoutes, ...optOutRoutes]),
  ...under('/api/consents', consentRoutes),
  ...under('/api/compliance', complianceRoutes),
  ...under('/api/voice', callRoutes),
  ...under(['/api/attachments', '/attachments'], attachmentRoutes),

  ...under('/api/lines', lineRoutes),
  ...under('/api/lines', lineHealthRoutes),
  ...under('/api/lines', linePaceRoutes),
  ...under('/api/lines', linePauseRoutes),
  ...under('/api/lines', lineReputationRoutes),
  ...under('/api/lines', lineCarrierRoutes),
  ...under('/api/lines', lineConnectionTestRoutes),
  ...under('/api/lines', emailAuthenticationRoutes),
  ...under('/api/line-requests', lineRequestRoutes),
  ...under('/api/pools', poolRoutes),

  ...under(['/api/leads/check-availability', '/api/check-availability-rr'], availabilityRoutes),
  ...under('/api/leads', [...leadRoutes, ...contactExportRoutes]),
  ...under('/api/lists', listRoutes),
  ...under('/api/lists', importRoutes),
  ...under('/api/campaigns', campaignRoutes),
  ...under('/api/campaigns', campaignCheckRoutes),
  ...under('/api/campaigns', campaignFunnelRoutes),
  ...under('/api/campaigns', campaignLeadRoutes),
  ...under('/api/campaigns', campaignForecastRoutes),
  ...under('/api/forecast', forecastRoutes),

  ...under('/api/webhooks', webhookRoutes),
  ...under('/api/webhooks', webhookDeliveryRoutes),
  ...under('/api/events', eventStreamRoutes),
  ...under('/api/workspace', workspaceRoutes),
  ...under('/api/workspace/limits', limitRoutes),
  ...under('/api/workspace/setup', setupRoutes),
  ...under('/api/workspace/quiet-hours', quietHoursRoutes),
  ...under('/api/workspace/fallback-config', fallbackConfigRoutes),
  ...under('/api/fallback-sms', fallbackSmsRoutes),
  ...under('/api/analytics', analyticsRoutes),
  ...under('/api/email-preferences', emailPreferenceRoutes),
  ...under('/api/team', teamInvitationRoutes),
  ...under('/api/team', teamMemberRoutes),
  ...under('/invitations', invitationRoutes),
  ...under('/api/keys', workspaceKeyRoutes),
  ...under('/api/sessions', sessionRoutes),
  ...under('/api/passkeys', passkeyRoutes),
  ...under('/api/setup', installationRoutes),
  ...under('/api/requests', requestRoutes),
  ...under('/api/audit-log', auditLogRoutes),

  ...under('/api/test', [...testModeRoutes, ...testClockRoutes]),

  ...under('/api/agency/keys', agencyKeyRoutes),
  ...under('/api/agency/audit-log', agencyAuditLogRoutes),
  ...under(['/api/agency/subaccounts', '/api/agency/email-preferences'], agencyClientRoutes),
  ...under('/api/agency/lines', agencyLineRoutes),
  ...under('/api/agency/overview', agencyOverviewRoutes),
  ...under('/api/agency/webhooks', agencyWebhookRoutes),
  ...under('/api/agency/suppressions', agencySuppressionRoutes),
  ...under('/api/agency/billing', agencyBillingRoutes),
  ...under(['/api/agency/members', '/api/agency/admins', '/api/agency/invitations'], agencyMemberRoutes),

  ...under(
    '/mcp',
    mcpRoutes(() => routes),
  ),

  ...under('/api/console/session', consoleSessionRoutes),
  ...under('/auth', signInRoutes),
  ...under(['/sign-in', '/api/sign-in/link'], signInLinkRoutes),
  ...under('/api/sign-in/passkeys', passkeySignInRoutes),
  ...under('/console', consoleRoutes),
  ...under('/inbox', inboxLinkRoutes),
  ...under('/unsubscribe', unsubscribeRoutes),
  ...under('/notifications', notificationLinkRoutes),
  ...under('/callbacks/carriers', carrierCallbackRoutes),
  ...under('/callbacks/payments', paymentCallbackRoutes),
  ...under('/simulated', simulatedRoutes),

  ...under(['/healthz', '/readyz', '/metrics', '/.well-known'], systemRoutes),
  ...under('/codec', payloadCodecRoutes),
  ...under('/api/operations', operationsRoutes),
  ...under(
    ['/openapi.json', '/docs'],
    referenceRoutes(() => routes),
  ),
];

/** The routes of the public port. With `METRICS_PORT`, and in production, metrics are not among them. */
export const publishedRoutes = ({
  metricsPort,
  production,
}: {
  metricsPort: number | null;
  production: boolean;
}): readonly Route[] =>
  metricsPort === null && !production ? routes : routes.filter(({ id }) => id !== 'metrics');
