import type { MessageDescriptor } from '@lingui/core';
import { msg } from '@lingui/core/macro';
import { useLingui } from '@lingui/react/macro';
import { ApiFailure } from '#console/api/client.ts';
import { useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { toast, toastError } from '#console/components/toast.tsx';
import { REFRESH } from './conversations.ts';

export type Suspicion = ResponseOf<'GET /api/opt-outs/suspected'>['suspicions'][number];
type Action = 'confirm' | 'dismiss';

const DONE: Record<Action, MessageDescriptor> = {
  confirm: msg`The contact is opted out`,
  dismiss: msg`Campaigns to the contact go on`,
};

const READS = [
  ...REFRESH,
  'GET /api/compliance',
  'GET /api/opt-outs/history',
  'GET /api/opt-outs/weeks',
] as const;

/** Confirms or dismisses a suspected opt-out. */
export function useDecision(id: string): { act: (action: Action) => void; isPending: boolean } {
  const { t } = useLingui();
  const { mutate, isPending } = useWrite('POST /api/opt-outs/suspected/{id}', { refresh: READS });
  const act = (action: Action): void => {
    if (isPending) return;
    mutate(
      { params: { id }, body: { action } },
      {
        onSuccess: () => toast(t(DONE[action])),
        onError: (error) => {
          if (error instanceof ApiFailure && error.code === 'INVALID_STATE')
            toast(t`Somebody else has decided about this`);
          else toastError(error);
        },
      },
    );
  };
  return { act, isPending };
}
