import { Trans, useLingui } from '@lingui/react/macro';
import { CircleAlert, RotateCw } from 'lucide-react';
import type { ReactNode } from 'react';
import { ApiFailure } from '#console/api/client.ts';
import { Button } from './button.tsx';
import { classes } from './class-names.ts';

/** Shown instead of an empty list, with an action that fills it. */
export function EmptyState({
  icon,
  title,
  children,
  action,
}: {
  icon?: ReactNode;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}) {
  return (
    <div className="flex flex-col items-center justify-center gap-3 px-6 py-16 text-center">
      {icon && (
        <div className="flex size-11 items-center justify-center rounded-xl border border-line bg-surface text-muted shadow-card">
          {icon}
        </div>
      )}
      <div className="max-w-sm">
        <p className="font-medium">{title}</p>
        {children && <div className="mt-1 text-muted">{children}</div>}
      </div>
      {action}
    </div>
  );
}

/** An error with the request id for support, and a button to retry. */
export function ErrorState({ error, retry }: { error: unknown; retry?: () => void }) {
  const { t } = useLingui();
  const { requestId = null, code = null } = error instanceof ApiFailure ? error : {};
  // Nothing has failed, and another attempt does not help.
  if (code === 'LIVE_MODE_ONLY')
    return <EmptyState title={t`Not in test mode`}>{t`Leave test mode to see and change this.`}</EmptyState>;
  return (
    <div role="alert">
      <EmptyState
        icon={<CircleAlert className="size-5 text-bad" aria-hidden="true" />}
        title={t`This could not be loaded`}
        action={
          retry && (
            <Button icon={<RotateCw className="size-4" aria-hidden="true" />} onClick={retry}>
              <Trans>Try again</Trans>
            </Button>
          )
        }
      >
        <p>{error instanceof Error ? error.message : t`Something went wrong.`}</p>
        {requestId && (
          <p className="mt-1 font-mono text-xs">
            <Trans>Request {requestId}</Trans>
          </p>
        )}
      </EmptyState>
    </div>
  );
}

/** A placeholder while content is loading. */
export const Skeleton = ({ className = '' }: { className?: string }) => (
  <div className={classes('animate-pulse-soft rounded-md bg-hover', className)} aria-hidden="true" />
);

/** Several placeholder rows, announced once to screen readers. */
export function SkeletonRows({ rows = 6, className = 'h-12' }: { rows?: number; className?: string }) {
  return (
    <div role="status" className="flex flex-col gap-2 p-4">
      <span className="sr-only">
        <Trans>Loading</Trans>
      </span>
      {Array.from({ length: rows }, (_, row) => (
        <Skeleton key={row} className={className} />
      ))}
    </div>
  );
}
