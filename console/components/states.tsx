import { CircleAlert, RotateCw } from 'lucide-react';
import type { ReactNode } from 'react';
import { ApiFailure } from '#console/api/client.ts';
import { Button } from './button.tsx';
import { classes } from './class-names.ts';

/** What a place says when it has nothing to show yet, and how to change that. */
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

/** What failed, with the request's id for whoever helps, and a way to try again. */
export function ErrorState({ error, retry }: { error: unknown; retry?: () => void }) {
  const requestId = error instanceof ApiFailure ? error.requestId : null;
  return (
    <div role="alert">
      <EmptyState
        icon={<CircleAlert className="size-5 text-bad" aria-hidden="true" />}
        title="This could not be loaded"
        action={
          retry && (
            <Button icon={<RotateCw className="size-4" aria-hidden="true" />} onClick={retry}>
              Try again
            </Button>
          )
        }
      >
        <p>{error instanceof Error ? error.message : 'Something went wrong.'}</p>
        {requestId && <p className="mt-1 font-mono text-xs">Request {requestId}</p>}
      </EmptyState>
    </div>
  );
}

/** The shape of what is loading. */
export const Skeleton = ({ className = '' }: { className?: string }) => (
  <div className={classes('animate-pulse-soft rounded-md bg-hover', className)} aria-hidden="true" />
);

/** Several lines of it, announced once. */
export function SkeletonRows({ rows = 6, className = 'h-12' }: { rows?: number; className?: string }) {
  return (
    <div role="status" className="flex flex-col gap-2 p-4">
      <span className="sr-only">Loading</span>
      {Array.from({ length: rows }, (_, row) => (
        <Skeleton key={row} className={className} />
      ))}
    </div>
  );
}
