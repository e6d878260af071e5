import { MAX_TEST_LINES, MAX_TEST_MESSAGES } from '../test-mode/test-mode.ts';

/** A cap on a number of things, so that no tenant can slow down or fill the installation for the others. */
export interface Limit {
  max: number;
  /** The counted objects; completes the sentence "A workspace may have 50 …". */
  text: string;
}

/** The limits of a workspace. The names are part of the API: `409 LIMIT_REACHED {limit, max}`. */
export const WORKSPACE_LIMITS = {
  webhooks: { max: 50, text: 'webhooks' },
  apiKeys: { max: 100, text: 'API keys that are neither revoked nor expired' },
  lists: { max: 1000, text: 'lists, besides Quick Sends' },
  segments: { max: 200, text: 'segments' },
  campaigns: { max: 1000, text: 'campaigns that are not archived' },
  lines: { max: 200, text: 'lines that are neither canceled nor failed' },
  pools: { max: 200, text: 'pools of lines' },
  rules: { max: 50, text: 'rules' },
  snippets: { max: 500, text: 'snippets' },
  optInLinks: { max: 500, text: 'opt-in links' },
  savedFilters: { max: 500, text: 'saved filters, over all its members' },
  customFields: { max: 500, text: 'distinct names of custom fields' },
  waitingMessages: { max: 1_000_000, text: 'messages that wait to be sent' },
  eventStreams: { max: 200, text: 'open event streams' },
} as const satisfies Record<string, Limit>;
export type WorkspaceLimit = keyof typeof WORKSPACE_LIMITS;

/** The limits of an agency. */
export const AGENCY_LIMITS = {
  agencyKeys: { max: 100, text: 'API keys that are neither revoked nor expired' },
  workspaces: { max: 500, text: 'workspaces' },
  newWorkspaces: { max: 20, text: 'workspaces created within an hour' },
  invitations: { max: 100, text: 'invitations within an hour, over all its workspaces' },
  paidLineRequests: {
    max: 50,
    text: 'requests for lines that cost extra within a day, over all its workspaces',
  },
} as const satisfies Record<string, Limit>;

/** The limits of a workspace in test mode. */
export const TEST_LIMITS = {
  testLines: { max: MAX_TEST_LINES, text: 'lines in test mode' },
  testMessages: { max: MAX_TEST_MESSAGES, text: 'messages in test mode, which are kept for 30 days' },
} as const satisfies Record<string, Limit>;
/** The limits of one contact, number or campaign. */
const ITEM_LIMITS = {
  notes: { max: 1000, text: 'notes about one contact' },
  campaignVersions: { max: 200, text: 'versions of the steps of one campaign' },
  verifications: { max: 5, text: 'open verifications of one number' },
} as const satisfies Record<string, Limit>;
export const MAX_NOTES = ITEM_LIMITS.notes.max;
export const MAX_CAMPAIGN_VERSIONS = ITEM_LIMITS.campaignVersions.max;
export const MAX_VERIFICATIONS = ITEM_LIMITS.verifications.max;

export type TestLimit = keyof typeof TEST_LIMITS;

export type AgencyLimit = keyof typeof AGENCY_LIMITS;

/**
 * Kilobytes of requests that a workspace without a subscription may send a day to change something, its twin apart; each request counts
 * as one at least, and so does each object that a request changes. So what it can fill the database with is bounded, whatever the limits of single endpoints allow.
 */
export const UNSUBSCRIBED_KB_PER_DAY = 20_480;

/** Deliveries to webhooks of a workspace that has no subscription, its twin apart, a day (UTC). Further ones fail unsent. */
export const UNSUBSCRIBED_DELIVERIES_PER_DAY = 5000;

/** Emails of the product to one address and day, from agencies without a client that has, or had, a subscription. */
export const UNSUBSCRIBED_MAILS_PER_DAY = 3;

type AnyLimit = WorkspaceLimit | AgencyLimit | TestLimit | keyof typeof ITEM_LIMITS;
const ALL: Record<AnyLimit, Limit> = {
  ...WORKSPACE_LIMITS,
  ...AGENCY_LIMITS,
  ...TEST_LIMITS,
  ...ITEM_LIMITS,
};

/** Nothing was added, because the limit is reached. */
export class LimitReached extends Error {
  override readonly name = 'LimitReached';
  readonly limit: AnyLimit;
  readonly max: number;
  /** When the oldest of an hourly limit no longer counts, at the latest. In seconds; null: when some are deleted. */
  readonly retryAfter: number | null;

  constructor(limit: AnyLimit, retryAfter: number | null = null) {
    const { max, text } = ALL[limit];
    const owner = limit in AGENCY_LIMITS ? 'An agency' : 'A workspace';
    super(`${owner} may have ${max.toLocaleString('en-US')} ${text}`);
    this.limit = limit;
    this.max = max;
    this.retryAfter = retryAfter;
  }
}
