import { t } from '@lingui/core/macro';
import type { RequestTo, ResponseOf } from '#console/api/routes.ts';

export type Pool = ResponseOf<'GET /api/pools'>['pools'][number];

/** A pool as it is being written. */
export interface PoolDraft {
  name: string;
  /** The weights of its lines, by line. */
  weights: Readonly<Record<string, string>>;
  strategy: Pool['strategy'];
  sticky: boolean;
  failover: Pool['failover'];
  failoverAfterMinutes: string;
}

export const NEW_POOL: PoolDraft = {
  name: '',
  weights: {},
  strategy: 'round_robin',
  sticky: true,
  failover: 'new_conversations',
  failoverAfterMinutes: '15',
};

export const draftOf = ({
  name,
  lines,
  strategy,
  sticky,
  failover,
  failoverAfterMinutes,
}: Pool): PoolDraft => ({
  name,
  weights: Object.fromEntries(lines.map(({ lineId, weight }) => [lineId, String(weight)])),
  strategy,
  sticky,
  failover,
  failoverAfterMinutes: String(failoverAfterMinutes),
});

export const bodyOf = ({ weights, failoverAfterMinutes, ...same }: PoolDraft) =>
  ({
    ...same,
    lines: Object.entries(weights).map(([lineId, weight]) => ({ lineId, weight: Number(weight) })),
    failoverAfterMinutes: Number(failoverAfterMinutes),
  }) satisfies RequestTo<'POST /api/pools'>['body'];

export const strategies = (): readonly { value: Pool['strategy']; label: string }[] => [
  { value: 'round_robin', label: t`In turn, by weight` },
  { value: 'least_used', label: t`The least used line` },
  { value: 'local', label: t`The line closest to the contact’s number` },
];

export const failovers = (): readonly { value: Pool['failover']; label: string }[] => [
  { value: 'never', label: t`Never: they wait for their line` },
  { value: 'new_conversations', label: t`Messages that start a conversation` },
  { value: 'always', label: t`All messages` },
];
