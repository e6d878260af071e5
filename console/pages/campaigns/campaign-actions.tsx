import { Trans, useLingui } from '@lingui/react/macro';
import { Archive, Copy, Pause, Pencil, Play, Trash2 } from 'lucide-react';
import { useWrite } from '#console/api/queries.ts';
import { Status } from '#console/components/badge.tsx';
import { Button } from '#console/components/button.tsx';
import { ConfirmButton } from '#console/components/confirm.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { type Campaign, CAMPAIGNS } from './campaign.ts';
import { copyOf } from './campaign-draft.ts';
import { StartCheck } from './start-check.tsx';

const OPTIONS = { refresh: CAMPAIGNS };
const icon = 'size-4';

const canEdit = (status: Campaign['status']): boolean =>
  status === 'draft' || status === 'active' || status === 'paused';

/** What the campaign's status allows. Pausing and resuming undo each other; the rest asks beforehand. */
export function CampaignActions({
  campaign,
  onEdit,
  onDeleted,
  onDuplicated,
}: {
  campaign: Campaign;
  onEdit: () => void;
  onDeleted: () => void;
  onDuplicated: (campaignId: string) => void;
}) {
  const { t } = useLingui();
  const { _id, name, status } = campaign;
  const onError = toastError;
  const copy = useWrite('POST /api/campaigns', OPTIONS);
  const duplicate = (): void =>
    copy.mutate(
      { body: { ...copyOf(campaign), name: t`${name} (copy)` } },
      {
        onSuccess: () => toast(t`The copy is a draft`),
        afterRefetch: ({ campaign: made }) => onDuplicated(made._id),
        onError,
      },
    );
  const start = useWrite('POST /api/campaigns/{id}/start', OPTIONS);
  const pause = useWrite('POST /api/campaigns/{id}/pause', OPTIONS);
  const resume = useWrite('POST /api/campaigns/{id}/resume', OPTIONS);
  const archive = useWrite('POST /api/campaigns/{id}/archive', OPTIONS);
  const remove = useWrite('DELETE /api/campaigns/{id}', { refresh: ['GET /api/campaigns'] });
  const input = { params: { id: _id } };
  const doPause = (): void =>
    pause.mutate(input, {
      onSuccess: () => toast(t`${name} is paused`, { undo: () => resume.mutate(input, { onError }) }),
      onError,
    });
  const doResume = (): void =>
    resume.mutate(input, {
      onSuccess: () => toast(t`${name} goes on`, { undo: () => pause.mutate(input, { onError }) }),
      onError,
    });
  return (
    <div className="mb-3 flex flex-wrap items-center gap-2">
      <Status status={status} />
      <span className="flex-1" />
      <Button
        small
        busy={copy.isPending}
        icon={<Copy className={icon} aria-hidden="true" />}
        onClick={duplicate}
      >
        <Trans>Duplicate</Trans>
      </Button>
      {status !== 'archived' && (
        <ConfirmButton
          label={t`Archive`}
          kind="secondary"
          icon={<Archive className={icon} aria-hidden="true" />}
          title={t`Archive this campaign?`}
          confirm={t`Archive the campaign`}
          busy={archive.isPending}
          onConfirm={() => archive.mutate(input, { onSuccess: () => toast(t`${name} is archived`), onError })}
        >
          <p>
            <Trans>Its unsent messages are canceled. An archived campaign cannot be resumed.</Trans>
          </p>
        </ConfirmButton>
      )}
      {(status === 'draft' || status === 'archived') && (
        <ConfirmButton
          label={t`Delete`}
          icon={<Trash2 className={icon} aria-hidden="true" />}
          title={t`Delete this campaign?`}
          confirm={t`Delete the campaign`}
          busy={remove.isPending}
          onConfirm={() =>
            remove.mutate(input, {
              onSuccess: () => toast(t`Deleted ${name}`),
              whileShown: onDeleted,
              onError,
            })
          }
        >
          <p>
            <Trans>Its unsent messages are canceled. A deleted campaign cannot be restored.</Trans>
          </p>
        </ConfirmButton>
      )}
      {canEdit(status) && (
        <Button small icon={<Pencil className={icon} aria-hidden="true" />} onClick={onEdit}>
          <Trans>Edit</Trans>
        </Button>
      )}
      {status === 'draft' && (
        <ConfirmButton
          label={t`Start`}
          kind="secondary"
          icon={<Play className={icon} aria-hidden="true" />}
          title={t`Start this campaign?`}
          confirm={t`Start the campaign`}
          busy={start.isPending}
          onConfirm={() =>
            start.mutate(
              { ...input, query: { refuseUnknownFields: 'true' } },
              { onSuccess: () => toast(t`${name} has started`), onError },
            )
          }
        >
          <StartCheck campaign={campaign} />
          <p className="mt-3 text-muted">
            <Trans>
              The leads of its list enter, and their messages are sent at the pace of your lines. It can be
              paused at any time. Its steps can still be changed for whoever has not got them.
            </Trans>
          </p>
        </ConfirmButton>
      )}
      {status === 'active' && (
        <Button
          small
          busy={pause.isPending}
          icon={<Pause className={icon} aria-hidden="true" />}
          onClick={doPause}
        >
          <Trans>Pause</Trans>
        </Button>
      )}
      {status === 'paused' && (
        <Button
          small
          kind="primary"
          busy={resume.isPending}
          icon={<Play className={icon} aria-hidden="true" />}
          onClick={doResume}
        >
          <Trans>Resume</Trans>
        </Button>
      )}
    </div>
  );
}
