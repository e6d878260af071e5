import type { ReactNode } from 'react';
import { statusName } from '#console/lib/status-names.ts';
import { classes } from './class-names.ts';

export type Tone = 'neutral' | 'good' | 'warn' | 'bad' | 'info' | 'accent';

const TONES: Record<Tone, string> = {
  neutral: 'bg-hover text-muted',
  good: 'bg-good-soft text-good',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
  info: 'bg-info-soft text-info',
  accent: 'bg-accent-soft text-accent-ink',
};

export const Badge = ({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) => (
  <span
    className={classes(
      'inline-flex h-5.5 shrink-0 items-center gap-1 rounded-md px-1.5 text-xs font-medium whitespace-nowrap',
      TONES[tone],
    )}
  >
    {children}
  </span>
);

/** The tone of each status of the API: good, in progress, needs attention, bad. */
const STATUS_TONES: Record<string, Tone> = {
  active: 'good',
  healthy: 'good',
  delivered: 'good',
  succeeded: 'good',
  completed: 'good',
  approved: 'good',
  paid: 'good',
  read: 'good',
  running: 'info',
  sent: 'info',
  sending: 'info',
  pending: 'neutral',
  scheduled: 'neutral',
  draft: 'neutral',
  drafted: 'accent',
  paused: 'warn',
  watch: 'warn',
  at_risk: 'bad',
  critical: 'bad',
  degraded: 'warn',
  fallback: 'warn',
  retrying: 'warn',
  awaiting_payment: 'warn',
  provisioning: 'info',
  past_due: 'bad',
  suspended: 'bad',
  unsubscribed: 'bad',
  failed: 'bad',
  down: 'bad',
  rejected: 'bad',
};

/** A status of the API as colored text. */
export const Status = ({ status }: { status: string }) => (
  <Badge tone={STATUS_TONES[status] ?? 'neutral'}>
    <span className="size-1.5 rounded-full bg-current" aria-hidden="true" />
    {statusName(status)}
  </Badge>
);
