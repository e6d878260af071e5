import { t } from '@lingui/core/macro';
import { request } from '#console/api/client.ts';
import { refreshReads, useWrite } from '#console/api/queries.ts';
import type { RequestTo } from '#console/api/routes.ts';
import { currentSession } from '#console/api/session.ts';
import { toast, toastError } from '#console/components/toast.tsx';
import { workspaceNow } from '#console/lib/workspace-time.ts';
import { REFRESH } from './conversations.ts';

export type Change = NonNullable<RequestTo<'PATCH /api/conversations/{address}'>['body']>;

const DAY_MS = 86_400_000;

/** Until when a conversation can be snoozed, by the clock of the workspace at the moment of the choice. */
export const snoozeTimes = (): { label: string; until: () => Date }[] => [
  { label: t`For an hour`, until: () => new Date(workspaceNow().getTime() + 3_600_000) },
  { label: t`Until tomorrow, 9:00`, until: () => morningIn(1) },
  { label: t`For three days`, until: () => morningIn(3) },
  { label: t`For a week`, until: () => morningIn(7) },
];

function morningIn(days: number): Date {
  const at = new Date(workspaceNow().getTime() + days * DAY_MS);
  at.setHours(9, 0, 0, 0);
  return at;
}

/** Changes one conversation, or many. */
export function useChange() {
  const change = useWrite('PATCH /api/conversations/{address}', { refresh: REFRESH });
  return (address: string, body: Change, done: string, undo?: Change): void =>
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
        onError: toastError,
      },
    );
}

/**
 * One after the other, as the API counts requests. What fails ends it, and is shown. A switch of the workspace ends it too:
 * the rest would be changed in the other one.
 */
export async function forEach(
  addresses: readonly string[],
  act: (address: string) => Promise<unknown>,
  done: string,
): Promise<void> {
  const session = currentSession();
  try {
    for (const address of addresses) {
      await act(address);
      if (currentSession() !== session) return;
    }
    toast(done);
  } catch (error) {
    toastError(error);
  } finally {
    void refreshReads(REFRESH);
  }
}

export const patch = (address: string, body: Change): Promise<unknown> =>
  request('PATCH /api/conversations/{address}', { params: { address }, body });

export const markRead = (address: string): Promise<unknown> =>
  request('POST /api/conversations/{address}/read', { params: { address } });
