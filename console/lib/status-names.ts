import type { MessageDescriptor } from '@lingui/core';
import { i18n } from '@lingui/core';
import { msg } from '@lingui/core/macro';
import { wordsOf } from './format.ts';

/** The statuses of the API, and those that the console derives. */
const NAMES: Record<string, MessageDescriptor> = {
  active: msg`Active`,
  answered: msg`Answered`,
  approved: msg`Approved`,
  archived: msg`Archived`,
  at_risk: msg`At risk`,
  available: msg`Available`,
  awaiting_payment: msg`Awaiting payment`,
  canceled: msg`Canceled`,
  completed: msg`Completed`,
  critical: msg`Critical`,
  degraded: msg`Degraded`,
  delivered: msg`Delivered`,
  down: msg`Down`,
  draft: msg`Draft`,
  drafted: msg`Drafted`,
  error: msg`Error`,
  failed: msg`Failed`,
  fallback: msg`Fallback`,
  finished: msg`Finished`,
  healthy: msg`Healthy`,
  new: msg`New`,
  none: msg`None`,
  off: msg`Off`,
  paid: msg`Paid`,
  past_due: msg`Past due`,
  paused: msg`Paused`,
  pending: msg`Pending`,
  provisioning: msg`Provisioning`,
  read: msg`Read`,
  rejected: msg`Rejected`,
  requested: msg`Requested`,
  retrying: msg`Retrying`,
  ringing: msg`Ringing`,
  running: msg`Running`,
  scheduled: msg`Scheduled`,
  sending: msg`Sending`,
  sent: msg`Sent`,
  stopped: msg`Stopped`,
  succeeded: msg`Succeeded`,
  suspended: msg`Suspended`,
  unavailable: msg`Unavailable`,
  unsubscribed: msg`No subscription`,
  watch: msg`Watch`,
};

/** A status in the language of the console. */
export function statusName(status: string): string {
  const name = NAMES[status];
  return name ? i18n._(name) : wordsOf(status);
}
