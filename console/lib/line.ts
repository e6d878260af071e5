import { t } from '@lingui/core/macro';
import type { ResponseOf } from '#console/api/routes.ts';
import { addressName } from './format.ts';

export type Line = ResponseOf<'GET /api/lines/by-user'>['lines'][number] & {
  /** Why its workspace sends nothing, on any line. */
  stop?: Stop | null;
};

export type Stop = 'suspended' | 'past_due' | 'unsubscribed';

/** Why a workspace sends nothing, whatever the state of its lines; null: it sends. */
export function stopOfWorkspace({
  suspended = false,
  billingMode,
  subscriptionStatus,
}: {
  suspended?: boolean;
  billingMode: string;
  subscriptionStatus: string;
}): Stop | null {
  if (suspended) return 'suspended';
  if (billingMode === 'none') return null;
  if (subscriptionStatus === 'canceled') return 'unsubscribed';
  return subscriptionStatus === 'past_due' ? 'past_due' : null;
}

export const CHANNELS = {
  imessage: 'iMessage',
  sms: 'SMS',
  get email() {
    return t`Email`;
  },
};

export const lineName = ({ firstName, lastName, phone, email }: Line): string =>
  [firstName, lastName].filter(Boolean).join(' ') || addressName(phone ?? email ?? t`Line`);

export const lineAddress = ({ phone, email }: Line): string | null => {
  const address = phone ?? email;
  return address === null ? null : addressName(address);
};

/** Whether people welcome the messages of the line too little. */
export const isDoubted = ({ reputation }: Line): boolean =>
  ['watch', 'at_risk', 'critical'].includes(reputation.state);

/** The state of a line in one word; the most severe problem wins. */
export function lineState(line: Line): string {
  if (line.provisioningStatus !== 'active') return line.provisioningStatus;
  if (line.stop) return line.stop;
  if (line.isPaused) return 'paused';
  if (!line.isActive) return 'off';
  const health = line.healthCheck?.status ?? 'unknown';
  if (isDoubted(line) && health !== 'down' && health !== 'degraded') return line.reputation.state;
  return health === 'unknown' ? 'active' : health;
}

/** Whether the line needs attention. */
export const needsAttention = (line: Line): boolean => ATTENTION.has(lineState(line));
const ATTENTION: ReadonlySet<string> = new Set([
  'awaiting_payment',
  'failed',
  'suspended',
  'past_due',
  'unsubscribed',
  'paused',
  'degraded',
  'down',
]);
