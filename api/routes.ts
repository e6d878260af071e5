import type { Route } from './http/route.ts';
import { agencyBillingRoutes } from './routes/agency/agency-billing.ts';
import { agencyClientRoutes } from './routes/agency/agency-clients.ts';
import { agencyKeyRoutes } from './routes/agency/agency-keys.ts';
import { agencyLineRoutes } from './routes/agency/agency-lines.ts';
import { agencyMemberRoutes } from './routes/agency/agency-members.ts';
import { agencyOverviewRoutes } from './routes/agency/agency-overview.ts';
import { agencySuppressionRoutes } from './routes/agency/agency-suppressions.ts';
import { agencyWebhookRoutes } from './routes/agency/agency-webhooks.ts';
import { analyticsRoutes } from './routes/analytics/analytics.ts';
import { attachmentRoutes } from './routes/messages/attachments.ts';
import { agencyAuditLogRoutes, auditLogRoutes } from './routes/accounts/audit-log.ts';
import { attentionRoutes } from './routes/inbox/attention.ts';
import { availabilityRoutes } from './routes/lines/availability.ts';
import { callRoutes } from './routes/inbox/calls.ts';
import { campaignCheckRoutes } from './routes/campaigns/campaign-check.ts';
import { campaignCorrectionRoutes } from './routes/campaigns/campaign-corrections.ts';
import { campaignFunnelRoutes } from './routes/campaigns/campaign-funnel.ts';
import { campaignEntryRoutes, leadCampaignRoutes } from './routes/campaigns/campaign-entries.ts';
import { campaignLeadRoutes } from './routes/campaigns/campaign-leads.ts';
import { campaignRoutes } from './routes/campaigns/campaigns.ts';
import { carrierCallbackRoutes } from './routes/lines/carrier-callbacks.ts';
import { draftLinkRoutes } from './routes/drafts/draft-links.ts';
import { chatCallbackRoutes } from './routes/drafts/chat-callbacks.ts';
import { crmCallbackRoutes } from './routes/crm/crm-callbacks.ts';
import { crmConnectionRoutes } from './routes/crm/crm-connections.ts';
import { chatConnectionRoutes } from './routes/drafts/chat-connections.ts';
import { complianceRoutes } from './routes/contacts/compliance.ts';
import { consentRoutes } from './routes/contacts/consents.ts';
import { consoleSessionRoutes } from './routes/accounts/console-session.ts';
import { consoleRoutes, inboxLinkRoutes } from './routes/server/console.ts';
import { contactExportRoutes } from './routes/contacts/contact-export.ts';
import { conversationNoteRoutes } from './routes/inbox/conversation-notes.ts';
import { conversationPresenceRoutes } from './routes/inbox/conversation-presence.ts';
import { bulkLeadRoutes } from './routes/contacts/bulk-leads.ts';
import { bulkConversationRoutes } from './routes/inbox/bulk-conversations.ts';
import { groupRoutes } from './routes/inbox/groups.ts';
import { typingRoutes } from './routes/inbox/typing.ts';
import { conversationRoutes } from './routes/inbox/conversations.ts';
import { dripRoutes } from './routes/messages/drip.ts';
import { emailPreferenceRoutes } from './routes/events/email-preferences.ts';
import { evidenceRoutes } from './routes/contacts/evidence.ts';
import { eventStreamRoutes } from './routes/events/event-stream.ts';
import { fallbackConfigRoutes } from './routes/messages/fallback-config.ts';
import { fallbackSmsRoutes } from './routes/messages/fallback-sms.ts';
import { campaignForecastRoutes, forecastRoutes } from './routes/campaigns/forecast.ts';
import { importRoutes } from './routes/contacts/imports.ts';
import { inboxRoutes } from './routes/inbox/inbox.ts';
import { installationRoutes } from './routes/accounts/installation.ts';
import { invitationRoutes } from './routes/accounts/invitations.ts';
import { workspaceKeyRoutes } from './routes/accounts/keys.ts';
import { autopilotDryRunRoutes } from './routes/drafts/autopilot-dry-runs.ts';
import { draftRoutes } from './routes/drafts/drafts.ts';
import { knowledgeBaseRoutes } from './routes/drafts/knowledge-base.ts';
import { leadRoutes } from './routes/contacts/leads.ts';
import { leadTagRoutes } from './routes/contacts/lead-tags.ts';
import { contactCardRoutes } from './routes/lines/contact-card.ts';
import { lineCarrierRoutes } from './routes/lines/line-carriers.ts';
import { lineConnectionTestRoutes } from './routes/lines/line-connection-tests.ts';
import { lineHealthRoutes } from './routes/lines/line-health.ts';
import { linePaceRoutes } from './routes/lines/line-pace.ts';
import { emailAuthenticationRoutes } from './routes/lines/email-authentication.ts';
import { linePauseRoutes } from './routes/lines/line-pause.ts';
import { lineReputationRoutes } from './routes/lines/line-reputation.ts';
import { lineRequestRoutes } from './routes/lines/line-requests.ts';
import { lineRoutes } from './routes/lines/lines.ts';
import { listRoutes } from './routes/contacts/lists.ts';
import { mcpRoutes } from './routes/server/mcp.ts';
import { messageLinkRoutes } from './routes/messages/message-links.ts';
import { messageActionRoutes } from './routes/messages/message-actions.ts';
import { messageRoutes } from './routes/messages/messages.ts';
import { notificationLinkRoutes } from './routes/events/notification-links.ts';
import { poolRoutes } from './routes/lines/pools.ts';
import { optInLinkRoutes, optInPageRoutes } from './routes/contacts/opt-in-links.ts';
import { optOutHistoryRoutes } from './routes/contacts/opt-out-history.ts';
import { optOutSuspicionRoutes } from './routes/contacts/opt-out-suspicions.ts';
import { optOutRoutes } from './routes/contacts/opt-outs.ts';
import { operationsRoutes } from './routes/server/operations.ts';
import { passkeyRoutes, passkeySignInRoutes } from './routes/accounts/passkeys.ts';
import { payloadCodecRoutes } from './routes/server/payload-codec.ts';
import { paymentCallbackRoutes } from './routes/billing/payment-callbacks.ts';
import { frequencyCapRoutes } from './routes/accounts/frequency-cap.ts';
import { openingHoursRoutes } from './routes/inbox/opening-hours.ts';
import { quietHoursRoutes } from './routes/contacts/quiet-hours.ts';
import { referenceRoutes } from './routes/server/reference.ts';
import { replyRoutes } from './routes/inbox/replies.ts';
import { setupRoutes } from './routes/accounts/setup.ts';
import { simulatedRoutes } from './routes/test-mode/simulated.ts';
import { requestRoutes } from './routes/accounts/requests.ts';
import { sessionRoutes } from './routes/accounts/sessions.ts';
import { signInRoutes } from './routes/accounts/sign-in.ts';
import { signInLinkRoutes } from './routes/accounts/sign-in-links.ts';
import { ruleRoutes } from './routes/inbox/rules.ts';
import { savedFilterRoutes } from './routes/inbox/saved-filters.ts';
import { segmentRoutes } from './routes/contacts/segments.ts';
import { snippetRoutes } from './routes/inbox/snippets.ts';
import { systemRoutes } from './routes/server/system.ts';
import { limitRoutes } from './routes/messages/limits.ts';
import { teamInvitationRoutes } from './routes/accounts/team-invitations.ts';
import { teamMemberRoutes } from './routes/accounts/team-members.ts';
import { testClockRoutes } from './routes/test-mode/test-clock.ts';
import { testModeRoutes } from './routes/test-mode/test-mode.ts';
import { unsubscribeRoutes } from './routes/contacts/unsubscribe.ts';
import { verificationRoutes } from './routes/contacts/verifications.ts';
import { webhookDeliveryRoutes } from './routes/events/webhook-deliveries.ts';
import { webhookRoutes } from './routes/events/webhooks.ts';
import { workspaceRoutes } from './routes/accounts/workspace.ts';

/** Asserts that routes are below the given paths, so that the list below shows the whole API. */
function under<R extends readonly Route[]>(paths: string | readonly string[], routes: R): R {
  const stray = routes.find((route) => ![paths].flat().some((path) => route.path.startsWith(path)));
  if (stray) throw new Error(`${stray.path} is not below ${[paths].flat().join(' or ')}`);
  return routes;
}

/** One entry for each path. A new resource is one file in `routes/` and its routes here. */
const declared = [
  ...under('/api/messages', [...messageRoutes, ...messageActionRoutes]),
  ...under('/api/drip', dripRoutes),

  ...under('/api/replies', replyRoutes),
  ...under('/api/conversations', [
    ...bulkConversationRoutes,
    ...conversationRoutes,
    ...conversationNoteRoutes,
    ...conversationPresenceRoutes,
    ...groupRoutes,
    ...typingRoutes,
  ]),
  ...under('/api/attention', attentionRoutes),
  ...under('/api/inbox', inboxRoutes),
  ...under('/api/rules', ruleRoutes),
  ...under('/api/snippets', snippetRoutes),
  ...under('/api/saved-filters', savedFilterRoutes),
  ...under('/api/knowledge-base', [...knowledgeBaseRoutes, ...autopilotDryRunRoutes, ...draftRoutes]),
  ...under('/api/chat-connections', chatConnectionRoutes),
  ...under('/api/crm-connections', crmConnectionRoutes),
  ...under('/api/opt-outs/suspected', optOutSuspicionRoutes),
  ...under('/api/opt-outs', [...optOutHistoryRoutes, ...optOutRoutes]),
  ...under('/api/opt-in-links', optInLinkRoutes),
  ...under('/join', optInPageRoutes),
  ...under('/api/verifications', verificationRoutes),
  ...under('/api/consents', consentRoutes),
  ...under('/api/compliance', complianceRoutes),
  ...under('/api/voice', callRoutes),
  ...under(['/api/attachments', '/attachments'], attachmentRoutes),

  ...under('/api/lines', [
    ...lineRoutes,
    ...lineHealthRoutes,
    ...linePaceRoutes,
    ...linePauseRoutes,
    ...lineReputationRoutes,
    ...contactCardRoutes,
    ...lineCarrierRoutes,
    ...lineConnectionTestRoutes,
    ...emailAuthenticationRoutes,
  ]),
  ...under('/api/line-requests', lineRequestRoutes),
  ...under('/api/pools', poolRoutes),

  ...under(['/api/leads/check-availability', '/api/check-availability-rr'], availabilityRoutes),
  ...under('/api/leads', [
    ...leadCampaignRoutes,
    ...bulkLeadRoutes,
    ...leadRoutes,
    ...leadTagRoutes,
    ...contactExportRoutes,
    ...evidenceRoutes,
  ]),
  ...under('/api/lists', [...listRoutes, ...importRoutes]),
  ...under('/api/segments', segmentRoutes),
  ...under('/api/campaigns', [
    ...campaignRoutes,
    ...campaignCheckRoutes,
    ...campaignCorrectionRoutes,
    ...campaignFunnelRoutes,
    ...campaignEntryRoutes,
    ...campaignLeadRoutes,
    ...campaignForecastRoutes,
  ]),
  ...under('/l', messageLinkRoutes),
  ...under('/api/forecast', forecastRoutes),

  ...under('/api/webhooks', [...webhookRoutes, ...webhookDeliveryRoutes]),
  ...under('/api/events', eventStreamRoutes),
  ...under('/api/workspace', workspaceRoutes),
  ...under('/api/workspace/limits', limitRoutes),
  ...under('/api/workspace/setup', setupRoutes),
  ...under('/api/workspace/opening-hours', openingHoursRoutes),
  ...under('/api/workspace/quiet-hours', quietHoursRoutes),
  ...under('/api/workspace/frequency-cap', frequencyCapRoutes),
  ...under('/api/workspace/fallback-config', fallbackConfigRoutes),
  ...under('/api/fallback-sms', fallbackSmsRoutes),
  ...under('/api/analytics', analyticsRoutes),
  ...under('/api/email-preferences', emailPreferenceRoutes),
  ...under('/api/team', [...teamInvitationRoutes, ...teamMemberRoutes]),
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
  ...under('/drafts', draftLinkRoutes),
  ...under('/callbacks/carriers', carrierCallbackRoutes),
  ...under('/callbacks/payments', paymentCallbackRoutes),
  ...under('/callbacks/chats', chatCallbackRoutes),
  ...under('/callbacks/crms', crmCallbackRoutes),
  ...under('/simulated', simulatedRoutes),

  ...under(['/healthz', '/readyz', '/metrics', '/.well-known'], systemRoutes),
  ...under('/codec', payloadCodecRoutes),
  ...under('/api/operations', operationsRoutes),
  ...under(
    ['/openapi.json', '/docs'],
    referenceRoutes(() => routes),
  ),
];

/** The whole API. */
export const routes: readonly Route[] = declared;
/** A route with the types of its schemas, from which the console derives those of its requests. */
export type DeclaredRoute = (typeof declared)[number];

/** The routes of the public port. With `METRICS_PORT`, and in production, metrics are not among them. */
export const publishedRoutes = ({
  metricsPort,
  production,
}: {
  metricsPort: number | null;
  production: boolean;
}): readonly Route[] =>
  metricsPort === null && !production ? routes : routes.filter(({ id }) => id !== 'metrics');
