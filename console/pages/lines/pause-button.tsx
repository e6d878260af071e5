import { useLingui } from '@lingui/react/macro';
import { Pause, Play } from 'lucide-react';
import { useState } from 'react';
import { useWrite } from '#console/api/queries.ts';
import { Button } from '#console/components/button.tsx';
import { issueOf, TextField } from '#console/components/field.tsx';
import { FormDialog } from '#console/components/form-dialog.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { type Line, lineName } from '#console/lib/line.ts';

const READS = [
  'GET /api/lines/by-user',
  'GET /api/lines/{id}/pace',
  'GET /api/messages/{id}/timeline',
] as const;

/** Pauses a line, with a reason, or resumes it. */
export function PauseButton({ line }: { line: Line }) {
  const { t } = useLingui();
  const [asking, setAsking] = useState(false);
  const [reason, setReason] = useState('');
  const pause = useWrite('POST /api/lines/{id}/pause', { refresh: [...READS] });
  const resume = useWrite('POST /api/lines/{id}/resume', { refresh: [...READS] });
  const name = lineName(line);
  const params = { id: line._id };
  const ask = (): void => {
    setReason('');
    pause.reset();
    setAsking(true);
  };
  const submit = (): void =>
    pause.mutate(
      { params, body: reason.trim() === '' ? {} : { reason } },
      {
        onSuccess: () => {
          setAsking(false);
          toast(t`${name} is paused`);
        },
      },
    );
  const end = (): void =>
    resume.mutate({ params }, { onSuccess: () => toast(t`${name} is resumed`), onError: toastError });
  const Icon = line.isPaused ? Play : Pause;
  return (
    <>
      <Button
        small
        busy={resume.isPending}
        icon={<Icon className="size-4" aria-hidden="true" />}
        onClick={line.isPaused ? end : ask}
      >
        {line.isPaused ? t`Resume` : t`Pause`}
      </Button>
      <FormDialog
        open={asking}
        onClose={() => setAsking(false)}
        title={t`Pause ${name}`}
        description={t`It sends nothing until it is resumed. Its messages wait and keep their place.`}
        submit={t`Pause line`}
        busy={pause.isPending}
        error={pause.error}
        fields={['reason']}
        onSubmit={submit}
      >
        <TextField
          label={t`Reason (optional)`}
          hint={t`The audit log and the messages that wait show it.`}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
          error={issueOf(pause.error, 'reason')}
        />
      </FormDialog>
    </>
  );
}
