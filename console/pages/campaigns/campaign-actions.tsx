import { Trans, useLingui } from '@lingui/react/macro';
import { Archive, Pause, Pencil, Play, Trash2 } from 'lucide-react';
import { useWrite } from '#console/api/queries.ts';
import { Status } from '#console/components/badge.tsx';
import { Button } from '#console/components/button.tsx';
import { ConfirmButton } from '#console/components/confirm.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { type Campaign, CAMPAIGNS } from './campaign.ts';

const OPTIONS = { refresh: CAMPAIGNS };
const icon = 'size-4';

/** What the campaign's status allows. Pausing and resuming undo each other; the rest asks beforehand. */
export function CampaignActions({
  campaign: { _id, name, status },
  onEdit,
  onDeleted,
}: {
  campaign: Campaign;
  onEdit: () => void;
  onDeleted: () => void;
}) {
  const { t } = useLingui();
  const start = useWrite('POST /api/campaigns/{id}/start', OPTIONS);
  const pause = useWrite('POST /api/campaigns/{id}/pause', OPTIONS);
  const resume = useWrite('POST /api/campaigns/{id}/resume', OPTIONS);
  const archive = useWrite('POST /api/campaigns/{id}/archive', OPTIONS);
  const remove = useWrite('DELETE /api/campaigns/{id}', { refresh: ['GET /api/campaigns'] });
  const input = { params: { id: _id } };
  const onError = toastError;
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
      {status === 'draft' && (
        <>
          <Button small icon={<Pencil className={icon} aria-hidden="true" />} onClick={onEdit}>
            <Trans>Edit</Trans>
          </Button>
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
            <p>
              <Trans>
                The leads of its list enter, and their messages are sent at the pace of your lines. It can be
                paused at any time; its steps can no longer be changed.
              </Trans>
            </p>
          </ConfirmButton>
        </>
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
