import { t } from '@lingui/core/macro';
import { useWrite } from '#console/api/queries.ts';
import type { RequestTo } from '#console/api/routes.ts';
import { toast, toastError } from '#console/components/toast.tsx';
import { dayOf } from '#console/lib/format.ts';
import { momentIn, workspaceNow } from '#console/lib/workspace-time.ts';
import { REFRESH } from './conversations.ts';

export type Change = NonNullable<RequestTo<'PATCH /api/conversations/{address}'>['body']>;

const DAY_MS = 86_400_000;

/** Until when a conversation can be snoozed, by the clock of the workspace at the moment of the choice. */
export const snoozeTimes = (zone: string): { label: string; until: () => Date }[] => [
  { label: t`For an hour`, until: () => new Date(workspaceNow().getTime() + 3_600_000) },
  { label: t`Until tomorrow, 9:00`, until: () => morningIn(zone, 1) },
  { label: t`For three days`, until: () => morningIn(zone, 3) },
  { label: t`For a week`, until: () => morningIn(zone, 7) },
];

function morningIn(zone: string, days: number): Date {
  const day = dayOf(new Date(workspaceNow().getTime() + days * DAY_MS), zone);
  return momentIn(zone, `${day}T09:00`);
}

/** Changes one conversation, or many. */
export function useChange() {
  const change = useWrite('PATCH /api/conversations/{address}', { refresh: REFRESH });
  return (
    address: string,
    body: Change,
    done: string,
    { undo, onDone }: { undo?: Change; onDone?: () => void } = {},
  ): void =>
    change.mutate(
      { params: { address }, body },
      {
        onSuccess: () =>
          toast(
            done,
            undo && {
              undo: () => change.mutate({ params: { address }, body: undo }, { onError: toastError }),
            },
          ),
        ...(onDone && { whileShown: onDone }),
        onError: toastError,
      },
    );
}
