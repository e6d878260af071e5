import { Trans } from '@lingui/react/macro';
import { Link } from '@tanstack/react-router';
import { CirclePause, WifiOff } from 'lucide-react';
import type { ReactNode } from 'react';
import { useIsCutOff } from '#console/api/live.ts';
import { useIsPayer, useStop } from '#console/api/workspace.ts';
import type { Stop } from '#console/lib/line.ts';

/** Says on every page that nothing arrives, and that nothing is sent by itself later. */
export function ConnectionBanner() {
  if (!useIsCutOff()) return null;
  return (
    <div
      role="status"
      className="flex shrink-0 items-center gap-3 border-b border-line bg-warn-soft px-4 py-2 font-medium text-warn"
    >
      <WifiOff className="size-4 shrink-0" aria-hidden="true" />
      <p className="min-w-0 flex-1">
        <Trans>No connection: what is shown may be old, and nothing can be sent.</Trans>
      </p>
    </div>
  );
}

/** Says on every page that the workspace sends nothing, and why. */
export function StoppedBanner() {
  const stop = useStop();
  const pays = useIsPayer();
  if (stop === null) return null;
  return (
    <div
      role="status"
      className="flex shrink-0 items-center gap-3 border-b-4 border-bad bg-bad-soft px-4 py-2 font-semibold text-bad"
    >
      <CirclePause className="size-4 shrink-0" aria-hidden="true" />
      <p className="min-w-0 flex-1">{REASONS[stop]}</p>
      {pays && stop !== 'suspended' && (
        <Link to="/agency" search={{ tab: 'billing' } as never} className="underline">
          {stop === 'past_due' ? <Trans>Change the card</Trans> : <Trans>Choose a plan</Trans>}
        </Link>
      )}
    </div>
  );
}

const REASONS: Record<Stop, ReactNode> = {
  suspended: <Trans>Suspended by the operator: nothing is sent, and nothing can be changed.</Trans>,
  past_due: (
    <Trans>A payment is past due: nothing is sent, and nothing can be changed until it is paid.</Trans>
  ),
  unsubscribed: <Trans>The subscription has ended: nothing is sent.</Trans>,
};
