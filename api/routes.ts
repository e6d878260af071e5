import type { Route } from './http/route.ts';
import {
  createSubAccount,
  readAgencyEmailPreferences,
  readSubAccounts,
  writeAgencyEmailPreferences,
} from './routes/agency-clients.ts';
import { changeAgencyLine, readAgencyLines } from './routes/agency-lines.ts';
import {
  createAgencyAdmin,
  readAgencyAdmins,
  readAgencyBilling,
  readAgencyInvitations,
  readAgencyMembers,
  removeAgencyAdmin,
  withdrawAgencyInvitation,
} from './routes/agency-members.ts';
import { readAgencyOverview } from './routes/agency-overview.ts';
import { createAgencyWebhook, readAgencyWebhooks, removeAgencyWebhook } from './routes/agency-webhooks.ts';
import { exportTimeseries, readAnalytics, readDayConversations, readTimeseries } from './routes/analytics.ts';
import { downloadAttachment, uploadAttachment } from './routes/attachments.ts';
import {
  checkAddresses,
  checkLead,
  checkRoundRobinRoutes,
  readAvailabilityJob,
} from './routes/availability.ts';
import { addCampaignLead, previewCampaign } from './routes/campaign-leads.ts';
import {
  campaignActionRoutes,
  changeCampaign,
  createCampaign,
  readCampaign,
  readCampaigns,
  removeCampaign,
} from './routes/campaigns.ts';
import { readRecordings } from './routes/calls.ts';
import { receiveCarrierCallback } from './routes/carrier-callbacks.ts';
import { readConversation, readConversations, tagConversation } from './routes/conversations.ts';
import { acceptDrip } from './routes/drip.ts';
import { readEmailPreferences, writeEmailPreferences } from './routes/email-preferences.ts';
import { changeFallbackConfig, readFallbackConfig } from './routes/fallback-config.ts';
import { sendFallbackSms } from './routes/fallback-sms.ts';
import { acceptInvitation, invitationPage } from './routes/invitations.ts';
import { sendReply } from './routes/inbox.ts';
import { changeAgencyCard, subscribeClient } from './routes/agency-billing.ts';
import { agencyKeyRoutes, workspaceKeyRoutes } from './routes/keys.ts';
import { exportList, readImport, readRejectedRows, startImport } from './routes/imports.ts';
import { changeLead, createLeads, readLead, readLeads, removeLead } from './routes/leads.ts';
import {
  readAutoReplies,
  readKnowledgeBase,
  resolveAutoReply,
  writeKnowledgeBase,
} from './routes/knowledge-base.ts';
import { connectLineCarrier, readLineCarrier } from './routes/line-carriers.ts';
import { checkLine } from './routes/line-health.ts';
import { changeLine, readLines } from './routes/lines.ts';
import { changeList, createList, readLists, removeList } from './routes/lists.ts';
import { actOnLineRequest, createLineRequest, readLineRequest } from './routes/line-requests.ts';
import { notificationPage, turnOffNotifications } from './routes/notification-links.ts';
import { readMessage, readMessages, sendMessage, stopMessage } from './routes/messages.ts';
import { optOutRoutes } from './routes/opt-outs.ts';
import { receivePaymentCallback } from './routes/payment-callbacks.ts';
import { referenceRoutes } from './routes/reference.ts';
import { readReplies } from './routes/replies.ts';
import { simulatedRoutes } from './routes/simulated.ts';
import { inviteToTeam, readInvitations, readTeam, withdrawInvitation } from './routes/team.ts';
import { health, metricsPage, readiness } from './routes/system.ts';
import { unsubscribe, unsubscribePage } from './routes/unsubscribe.ts';
import { pingWebhook, readDeliveries, replayDelivery } from './routes/webhook-deliveries.ts';
import {
  changeWebhook,
  createWebhook,
  readWebhook,
  readWebhooks,
  removeWebhook,
  rotateWebhookSecret,
} from './routes/webhooks.ts';

/** The whole API on one screen. A new endpoint is one file in `routes/` and one line here. */
export const routes: readonly Route[] = [
  sendMessage,
  readMessages,
  readMessage,
  stopMessage,
  acceptDrip,

  readReplies,
  readConversations,
  readConversation,
  tagConversation,
  sendReply,
  readKnowledgeBase,
  writeKnowledgeBase,
  readAutoReplies,
  resolveAutoReply,
  ...optOutRoutes,
  readRecordings,
  uploadAttachment,
  downloadAttachment,

  readLines,
  checkLine,
  changeLine,
  readLineCarrier,
  connectLineCarrier,

  checkLead,
  checkAddresses,
  readAvailabilityJob,
  ...checkRoundRobinRoutes,

  createLineRequest,
  readLineRequest,
  actOnLineRequest,

  readLists,
  createList,
  changeList,
  removeList,
  startImport,
  readImport,
  readRejectedRows,
  exportList,
  readLeads,
  createLeads,
  readLead,
  changeLead,
  removeLead,

  readCampaigns,
  createCampaign,
  readCampaign,
  changeCampaign,
  removeCampaign,
  ...campaignActionRoutes,
  addCampaignLead,
  previewCampaign,

  readWebhooks,
  createWebhook,
  readWebhook,
  changeWebhook,
  removeWebhook,
  rotateWebhookSecret,
  pingWebhook,
  readDeliveries,
  replayDelivery,

  readFallbackConfig,
  changeFallbackConfig,
  sendFallbackSms,

  readAnalytics,
  readDayConversations,
  readTimeseries,
  exportTimeseries,

  readEmailPreferences,
  writeEmailPreferences,

  inviteToTeam,
  readTeam,
  readInvitations,
  withdrawInvitation,
  invitationPage,
  acceptInvitation,

  ...workspaceKeyRoutes,
  ...agencyKeyRoutes,

  readSubAccounts,
  createSubAccount,
  readAgencyLines,
  changeAgencyLine,
  readAgencyOverview,
  readAgencyEmailPreferences,
  writeAgencyEmailPreferences,
  readAgencyWebhooks,
  createAgencyWebhook,
  removeAgencyWebhook,
  subscribeClient,
  changeAgencyCard,
  readAgencyMembers,
  readAgencyAdmins,
  createAgencyAdmin,
  removeAgencyAdmin,
  readAgencyInvitations,
  withdrawAgencyInvitation,
  readAgencyBilling,

  unsubscribePage,
  unsubscribe,
  notificationPage,
  turnOffNotifications,

  receiveCarrierCallback,
  receivePaymentCallback,
  ...simulatedRoutes,

  health,
  readiness,
  metricsPage,
  ...referenceRoutes(() => routes),
];
