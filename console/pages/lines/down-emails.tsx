import { Trans, useLingui } from '@lingui/react/macro';
import { useWrite } from '#console/api/queries.ts';
import { toast, toastError } from '#console/components/toast.tsx';
import { type Line, lineName } from '#console/lib/line.ts';

/** Whether an email tells that the line is down. Saved at once. */
export function DownEmails({ line }: { line: Line }) {
  const update = useWrite('PATCH /api/lines/{id}', { refresh: ['GET /api/lines/by-user'] });
  const { t } = useLingui();
  const name = lineName(line);
  const save = (lineDownNotifications: boolean, onSuccess?: () => void): void =>
    update.mutate(
      { params: { id: line._id }, body: { lineDownNotifications } },
      { ...(onSuccess && { onSuccess }), onError: toastError },
    );
  const change = (enabled: boolean): void => {
    const title = enabled ? t`Emails about ${name} are on` : t`Emails about ${name} are off`;
    save(enabled, () => toast(title, { undo: () => save(!enabled) }));
  };
  return (
    <label className="mt-6 flex items-center gap-2 border-t border-line pt-5">
      <input
        type="checkbox"
        className="size-4 shrink-0 accent-accent"
        checked={line.lineDownNotifications}
        disabled={update.isPending}
        onChange={(event) => change(event.target.checked)}
      />
      <Trans>Send an email when this line is down</Trans>
    </label>
  );
}
