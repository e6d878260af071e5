import type { z } from 'zod';
import type { agencyBillingRoutes } from '#api/routes/agency/agency-billing.ts';
import type { agencyClientRoutes } from '#api/routes/agency/agency-clients.ts';
import type { agencyKeyRoutes } from '#api/routes/agency/agency-keys.ts';
import type { agencyLineRoutes } from '#api/routes/agency/agency-lines.ts';
import type { agencyMemberRoutes } from '#api/routes/agency/agency-members.ts';
import type { agencyOverviewRoutes } from '#api/routes/agency/agency-overview.ts';
import type { agencySuppressionRoutes } from '#api/routes/agency/agency-suppressions.ts';
import type { agencyWebhookRoutes } from '#api/routes/agency/agency-webhooks.ts';
import type { analyticsRoutes } from '#api/routes/analytics/analytics.ts';
import type { attachmentRoutes } from '#api/routes/messages/attachments.ts';
import type { agencyAuditLogRoutes, auditLogRoutes } from '#api/routes/accounts/audit-log.ts';
import type { attentionRoutes } from '#api/routes/inbox/attention.ts';
import type { availabilityRoutes } from '#api/routes/lines/availability.ts';
import type { bulkConversationRoutes } from '#api/routes/inbox/bulk-conversations.ts';
import type { callRoutes } from '#api/routes/inbox/calls.ts';
import type { campaignCheckRoutes } from '#api/routes/campaigns/campaign-check.ts';
import type { campaignFunnelRoutes } from '#api/routes/campaigns/campaign-funnel.ts';
import type { campaignLeadRoutes } from '#api/routes/campaigns/campaign-leads.ts';
import type { campaignRoutes } from '#api/routes/campaigns/campaigns.ts';
import type { complianceRoutes } from '#api/routes/contacts/compliance.ts';
import type { consentRoutes } from '#api/routes/contacts/consents.ts';
import type { conversationNoteRoutes } from '#api/routes/inbox/conversation-notes.ts';
import type { conversationPresenceRoutes } from '#api/routes/inbox/conversation-presence.ts';
import type { conversationRoutes } from '#api/routes/inbox/conversations.ts';
import type { dripRoutes } from '#api/routes/messages/drip.ts';
import type { emailAuthenticationRoutes } from '#api/routes/lines/email-authentication.ts';
import type { emailPreferenceRoutes } from '#api/routes/events/email-preferences.ts';
import type { fallbackConfigRoutes } from '#api/routes/messages/fallback-config.ts';
import type { fallbackSmsRoutes } from '#api/routes/messages/fallback-sms.ts';
import type { campaignForecastRoutes, forecastRoutes } from '#api/routes/campaigns/forecast.ts';
import type { importRoutes } from '#api/routes/contacts/imports.ts';
import type { inboxRoutes } from '#api/routes/inbox/inbox.ts';
import type { workspaceKeyRoutes } from '#api/routes/accounts/keys.ts';
import type { knowledgeBaseRoutes } from '#api/routes/drafts/knowledge-base.ts';
import type { leadRoutes } from '#api/routes/contacts/leads.ts';
import type { lineCarrierRoutes } from '#api/routes/lines/line-carriers.ts';
import type { lineConnectionTestRoutes } from '#api/routes/lines/line-connection-tests.ts';
import type { lineHealthRoutes } from '#api/routes/lines/line-health.ts';
import type { linePaceRoutes } from '#api/routes/lines/line-pace.ts';
import type { linePauseRoutes } from '#api/routes/lines/line-pause.ts';
import type { lineReputationRoutes } from '#api/routes/lines/line-reputation.ts';
import type { lineRequestRoutes } from '#api/routes/lines/line-requests.ts';
import type { lineRoutes } from '#api/routes/lines/lines.ts';
import type { listRoutes } from '#api/routes/contacts/lists.ts';
import type { messageActionRoutes } from '#api/routes/messages/message-actions.ts';
import type { messageRoutes } from '#api/routes/messages/messages.ts';
import type { operationsRoutes } from '#api/routes/server/operations.ts';
import type { optOutHistoryRoutes } from '#api/routes/contacts/opt-out-history.ts';
import type { optOutSuspicionRoutes } from '#api/routes/contacts/opt-out-suspicions.ts';
import type { optOutRoutes } from '#api/routes/contacts/opt-outs.ts';
import type { poolRoutes } from '#api/routes/lines/pools.ts';
import type { quietHoursRoutes } from '#api/routes/contacts/quiet-hours.ts';
import type { replyRoutes } from '#api/routes/inbox/replies.ts';
import type { requestRoutes } from '#api/routes/accounts/requests.ts';
import type { limitRoutes } from '#api/routes/messages/limits.ts';
import type { savedFilterRoutes } from '#api/routes/inbox/saved-filters.ts';
import type { passkeyRoutes } from '#api/routes/accounts/passkeys.ts';
import type { sessionRoutes } from '#api/routes/accounts/sessions.ts';
import type { setupRoutes } from '#api/routes/accounts/setup.ts';
import type { snippetRoutes } from '#api/routes/inbox/snippets.ts';
import type { teamInvitationRoutes } from '#api/routes/accounts/team-invitations.ts';
import type { teamMemberRoutes } from '#api/routes/accounts/team-members.ts';
import type { testClockRoutes } from '#api/routes/test-mode/test-clock.ts';
import type { testModeRoutes } from '#api/routes/test-mode/test-mode.ts';
import type { webhookDeliveryRoutes } from '#api/routes/events/webhook-deliveries.ts';
import type { webhookRoutes } from '#api/routes/events/webhooks.ts';
import type { workspaceRoutes } from '#api/routes/accounts/workspace.ts';

/*
 * The request and response types of the API, from the declarations of its routes. Only types are imported, so the bundle
 * contains no code of the API.
 */

type Declared = (
  | typeof agencyAuditLogRoutes
  | typeof agencyBillingRoutes
  | typeof agencyClientRoutes
  | typeof agencyKeyRoutes
  | typeof agencyLineRoutes
  | typeof agencyMemberRoutes
  | typeof agencyOverviewRoutes
  | typeof agencySuppressionRoutes
  | typeof agencyWebhookRoutes
  | typeof analyticsRoutes
  | typeof attachmentRoutes
  | typeof auditLogRoutes
  | typeof attentionRoutes
  | typeof availabilityRoutes
  | typeof bulkConversationRoutes
  | typeof callRoutes
  | typeof campaignForecastRoutes
  | typeof campaignCheckRoutes
  | typeof campaignFunnelRoutes
  | typeof campaignLeadRoutes
  | typeof campaignRoutes
  | typeof complianceRoutes
  | typeof consentRoutes
  | typeof conversationNoteRoutes
  | typeof conversationPresenceRoutes
  | typeof conversationRoutes
  | typeof dripRoutes
  | typeof emailAuthenticationRoutes
  | typeof emailPreferenceRoutes
  | typeof fallbackConfigRoutes
  | typeof fallbackSmsRoutes
  | typeof forecastRoutes
  | typeof importRoutes
  | typeof inboxRoutes
  | typeof knowledgeBaseRoutes
  | typeof leadRoutes
  | typeof lineCarrierRoutes
  | typeof lineConnectionTestRoutes
  | typeof lineHealthRoutes
  | typeof linePaceRoutes
  | typeof linePauseRoutes
  | typeof lineReputationRoutes
  | typeof lineRequestRoutes
  | typeof lineRoutes
  | typeof listRoutes
  | typeof messageRoutes
  | typeof messageActionRoutes
  | typeof operationsRoutes
  | typeof optOutHistoryRoutes
  | typeof optOutSuspicionRoutes
  | typeof optOutRoutes
  | typeof poolRoutes
  | typeof quietHoursRoutes
  | typeof replyRoutes
  | typeof setupRoutes
  | typeof limitRoutes
  | typeof requestRoutes
  | typeof savedFilterRoutes
  | typeof passkeyRoutes
  | typeof sessionRoutes
  | typeof snippetRoutes
  | typeof teamMemberRoutes
  | typeof teamInvitationRoutes
  | typeof testClockRoutes
  | typeof testModeRoutes
  | typeof webhookDeliveryRoutes
  | typeof webhookRoutes
  | typeof workspaceKeyRoutes
  | typeof workspaceRoutes
)[number];

/** Without those that anybody may call. */
type CalledRoute = Extract<Declared, { responses: unknown }>;

type Input<S> = [S] extends [z.ZodType] ? z.input<S> : undefined;
type Field<R, K extends string> = R extends { [N in K]?: infer S } ? Input<Exclude<S, undefined>> : undefined;

/** Omits parts that the route does not accept. Parts whose fields all have defaults are optional. */
type Part<K extends string, V> = [V] extends [undefined]
  ? { [N in K]?: undefined }
  : object extends V
    ? { [N in K]?: V }
    : { [N in K]: V };

type Successful<R> = R extends { responses: infer A } ? A[keyof A] : never;
type Output<S> = S extends z.ZodType ? z.output<S> : never;

/** All endpoints by method and path: `GET /api/messages/{id}`. */
type Routes = {
  [R in CalledRoute as `${R['method']} ${R['path']}`]: {
    request: Part<'params', Field<R, 'params'>> &
      Part<'query', Field<R, 'query'>> &
      Part<'body', Field<R, 'body'>>;
    response: Output<Successful<R>>;
  };
};

/** The method and path of an endpoint, as the reference names it: `POST /api/inbox/send-reply`. */
export type Endpoint = keyof Routes;
export type ReadEndpoint = Extract<Endpoint, `GET ${string}`>;
export type WriteEndpoint = Exclude<Endpoint, ReadEndpoint>;
/** The endpoints whose responses come in pages. */
export type PagedEndpoint = {
  [E in ReadEndpoint]: Routes[E]['response'] extends { nextCursor: string | null } ? E : never;
}[ReadEndpoint];

/** The parameters of the path, the query and the body of a request, as the route's schemas accept them. */
export type RequestTo<E extends Endpoint> = Routes[E]['request'];
/** The body of a successful response. */
export type ResponseOf<E extends Endpoint> = Routes[E]['response'];
