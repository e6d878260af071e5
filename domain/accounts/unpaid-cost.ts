import { MAX_CUSTOM_TEXT } from '../contacts/lead.ts';
import { DRAFTS_PER_HOUR } from '../drafts/ai-budget.ts';
import { RETRY_DELAYS_MS } from '../events/webhook-retries.ts';
import {
  AGENCY_LIMITS,
  UNSUBSCRIBED_DELIVERIES_PER_DAY,
  UNSUBSCRIBED_KB_PER_DAY,
  UNSUBSCRIBED_MAILS_PER_DAY,
} from './limits.ts';
import {
  MAX_TEST_LINES,
  MAX_TEST_MESSAGES,
  TEST_DAYS,
  UNPAID_TEST_BYTES,
  UNPAID_TEST_FILE_DAYS,
} from '../test-mode/test-mode.ts';

const MB = 1024 ** 2;
const number = (value: number): string => value.toLocaleString('en-US');

/** A workspace and its twin each have a budget of requests. */
const CHANGES = 2 * UNSUBSCRIBED_KB_PER_DAY;
const DELIVERIES = 2 * UNSUBSCRIBED_DELIVERIES_PER_DAY;

/**
 * What a workspace that never paid, together with its twin for tests, can use of an installation: by its name, as text.
 * docs/limits.md shows it.
 */
export const UNPAID_USE: readonly (readonly [what: string, most: string])[] = [
  ['objects that requests change a day', number(CHANGES)],
  ['data of such requests a day', `${number(CHANGES / 1024)} MB`],
  ['files at any time', `${number(UNPAID_TEST_BYTES / MB)} MB, each for ${UNPAID_TEST_FILE_DAYS} days`],
  ['files stored a day', `${number(UNPAID_TEST_BYTES / MB)} MB`],
  ['messages in test mode', `${number(MAX_TEST_MESSAGES)} in ${TEST_DAYS} days, on ${MAX_TEST_LINES} lines`],
  ['messages and calls at a carrier', '0'],
  ['lines that cost the operator', '0'],
  ['tokens of the language model a day', '0'],
  ['drafts of the simulated model', `${DRAFTS_PER_HOUR} per contact and hour`],
  ['invitations by email', '0'],
  ['emails of all such agencies to one address a day', `${UNSUBSCRIBED_MAILS_PER_DAY}`],
  ['deliveries to webhooks a day', number(DELIVERIES)],
  [
    'such workspaces of an agency',
    `${AGENCY_LIMITS.workspaces.max}, ${AGENCY_LIMITS.newWorkspaces.max} new ones an hour`,
  ],
];

/** Prices of a large cloud provider in US dollars, of 2026: for orders of magnitude. */
const PRICES = { fileGbMonth: 0.023, databaseGbMonth: 0.115, trafficGb: 0.09 };
/** A day's data stays in the database for as long as the retention of events, which is its longest part. */
const KEPT_MONTHS = 1;
/** The largest event is that of a lead. A changed object with its indexes and deliveries takes no more. */
const EVENT_BYTES = MAX_CUSTOM_TEXT + 14 * 1024;
const ATTEMPTS = 1 + RETRY_DELAYS_MS.length;

/** US dollars a day. */
export function unpaidCostPerDay(): number {
  const gb = 1024 ** 3;
  const files = (UNPAID_TEST_BYTES / gb) * (PRICES.fileGbMonth / 30);
  const database = ((CHANGES * EVENT_BYTES) / gb) * PRICES.databaseGbMonth * KEPT_MONTHS;
  const deliveries = ((DELIVERIES * ATTEMPTS * EVENT_BYTES) / gb) * PRICES.trafficGb;
  return files + database + deliveries;
}
