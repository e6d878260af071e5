import { useLingui } from '@lingui/react/macro';
import { useWrite } from '#console/api/queries.ts';
import { Check } from '#console/components/check.tsx';
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
    <Check
      className="mt-6 border-t border-line pt-5"
      label={t`Send an email when this line is down`}
      checked={line.lineDownNotifications}
      disabled={update.isPending}
      onChange={change}
    />
  );
}
