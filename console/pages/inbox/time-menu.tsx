import { Trans, useLingui } from '@lingui/react/macro';
import { CalendarClock, Clock } from 'lucide-react';
import { type ReactElement, useState } from 'react';
import { useTimeZone } from '#console/api/workspace.ts';
import { TextField } from '#console/components/field.tsx';
import { FormDialog } from '#console/components/form-dialog.tsx';
import { Menu } from '#console/components/menu.tsx';
import { momentIn } from '#console/lib/workspace-time.ts';
import { snoozeTimes } from './change.ts';

/** Chooses when something happens: one of the usual times, or any other, by the clock of the workspace. */
export function TimeMenu({
  trigger,
  title,
  submit,
  side = 'bottom',
  choose,
}: {
  trigger: ReactElement;
  title: string;
  submit: string;
  side?: 'top' | 'bottom';
  choose: (at: Date) => void;
}) {
  const { t } = useLingui();
  const [asks, setAsks] = useState(false);
  const [at, setAt] = useState('');
  const zone = useTimeZone();
  const time = at === '' ? null : momentIn(zone, at);
  return (
    <>
      <Menu
        side={side}
        trigger={trigger}
        groups={[
          {
            title,
            items: [
              ...snoozeTimes(zone).map(({ label: name, until }) => ({
                label: name,
                icon: <Clock className="size-4" aria-hidden="true" />,
                onSelect: () => choose(until()),
              })),
              {
                label: t`At another time`,
                icon: <CalendarClock className="size-4" aria-hidden="true" />,
                onSelect: () => setAsks(true),
              },
            ],
          },
        ]}
      />
      <FormDialog
        open={asks}
        onClose={() => setAsks(false)}
        title={title}
        submit={submit}
        busy={false}
        disabled={time === null}
        error={null}
        fields={[]}
        onSubmit={() => {
          if (!time) return;
          setAsks(false);
          choose(time);
        }}
      >
        <TextField
          label={t`Time`}
          type="datetime-local"
          required
          value={at}
          onChange={(event) => setAt(event.target.value)}
        />
        <p className="text-[0.8125rem] text-muted">
          <Trans>By the clock of the workspace: {zone}.</Trans>
        </p>
      </FormDialog>
    </>
  );
}
