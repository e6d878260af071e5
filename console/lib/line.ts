import { t } from '@lingui/core/macro';
import type { ResponseOf } from '#console/api/routes.ts';
import { addressName } from './format.ts';

export type Line = ResponseOf<'GET /api/lines/by-user'>['lines'][number] & {
  /** Whether it sends nothing because a payment of its workspace is past due. */
  isUnpaid?: boolean;
};

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
  if (line.isUnpaid) return 'past_due';
  if (line.isPaused) return 'paused';
  if (!line.isActive) return 'off';
  const health = line.healthCheck?.status ?? 'unknown';
  if (isDoubted(line) && health !== 'down' && health !== 'degraded') return line.reputation.state;
  return health === 'unknown' ? 'active' : health;
}

/** Whether the line needs attention. */
export const needsAttention = (line: Line): boolean =>
  ['awaiting_payment', 'failed', 'past_due', 'paused', 'degraded', 'down'].includes(lineState(line));
