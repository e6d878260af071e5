import { Trans, useLingui } from '@lingui/react/macro';
import { useWrite } from '#console/api/queries.ts';
import { ConfirmButton } from '#console/components/confirm.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { CAMPAIGNS } from './campaign.ts';

const REFRESH = [
  ...CAMPAIGNS,
  'GET /api/campaigns/{id}/leads',
  'GET /api/campaigns/{id}/funnel',
  'GET /api/leads/{id}/campaigns/{campaignId}',
  'GET /api/messages',
] as const;

/** Ends a campaign for one lead. */
export function StopLead({ campaignId, leadId, name }: { campaignId: string; leadId: string; name: string }) {
  const { t } = useLingui();
  const stop = useWrite('POST /api/campaigns/{id}/leads/{leadId}/stop', { refresh: REFRESH });
  return (
    <ConfirmButton
      label={t`Stop for this lead`}
      title={t`Stop the campaign for ${name}?`}
      confirm={t`Stop for this lead`}
      busy={stop.isPending}
      onConfirm={() =>
        stop.mutate(
          { params: { id: campaignId, leadId } },
          { onSuccess: () => toast(t`Stopped for ${name}`), onError: toastError },
        )
      }
    >
      <p>
        <Trans>Its unsent messages are canceled. It cannot enter this campaign again.</Trans>
      </p>
    </ConfirmButton>
  );
}
