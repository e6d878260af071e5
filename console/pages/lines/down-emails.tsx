import { useWrite } from '#console/api/queries.ts';
import { toast, toastError } from '#console/components/toast.tsx';
import { type Line, lineName } from '#console/lib/line.ts';

/** Whether an email tells that the line is down. Saved at once. */
export function DownEmails({ line }: { line: Line }) {
  const update = useWrite('PATCH /api/lines/{id}', { refresh: ['GET /api/lines/by-user'] });
  const save = (lineDownNotifications: boolean): Promise<unknown> =>
    update.mutateAsync({ params: { id: line._id }, body: { lineDownNotifications } });
  const change = (enabled: boolean): void => {
    const title = `Emails about ${lineName(line)} are ${enabled ? 'on' : 'off'}`;
    const undo = (): void => void save(!enabled).catch(toastError);
    save(enabled).then(() => toast(title, { undo }), toastError);
  };
  return (
    <label className="mt-6 flex items-center gap-2 border-t border-line pt-5">
      <input
        type="checkbox"
        className="size-4 accent-accent"
        checked={line.lineDownNotifications}
        disabled={update.isPending}
        onChange={(event) => change(event.target.checked)}
      />
      Send an email when this line is down
    </label>
  );
}
