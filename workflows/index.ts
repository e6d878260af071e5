export { aiDraft } from './ai-draft.ts';
export { campaign } from './campaign.ts';
export { housekeeping } from './housekeeping.ts';
export { linePacer } from './line-pacer.ts';
export { lineRequest } from './line-request.ts';
export { mailboxReader } from './mailbox-reader.ts';
export { polledRounds } from './polled-rounds.ts';
export { retention } from './retention.ts';
export { sweep } from './sweep.ts';
export {
  agencyMailSender,
  attachmentFetcher,
  autopilotDryRun,
  availabilityJob,
  chatMessenger,
  contactErasure,
  crmConnection,
  dripDrainer,
  leadImport,
  lineHandover,
  listDeletion,
  mailSender,
  notifier,
  optInCollector,
  optOutJudge,
  personalizer,
  ruleRunner,
  testClock,
  webhookDispatcher,
} from './table-workers.ts';
