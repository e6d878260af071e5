import { Trans, useLingui } from '@lingui/react/macro';
import { Plus, Trash2 } from 'lucide-react';
import type { FormEvent } from 'react';
import { useRead, useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { useIsAdmin } from '#console/api/workspace.ts';
import { Badge } from '#console/components/badge.tsx';
import { Button, IconButton } from '#console/components/button.tsx';
import { FormError, generalErrorOf, issueOf, TextAreaField, TextField } from '#console/components/field.tsx';
import { KeptForm } from '#console/components/kept-form.tsx';
import { Card } from '#console/components/page.tsx';
import { ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { useEdits } from '#console/lib/unsent.ts';
import { dayName } from '#console/pages/campaigns/campaign.ts';
import { linesOf } from '#console/pages/campaigns/step-draft.ts';

type Saved = ResponseOf<'GET /api/workspace/opening-hours'>['openingHours'];
type Hours = Saved['hours'][number];

/** Monday first. 0 is Sunday, as in the API. */
const DAYS = [1, 2, 3, 4, 5, 6, 0];
const WORKING_HOURS: Hours = { days: [1, 2, 3, 4, 5], start: '09:00', end: '17:00' };

/** When somebody of the workspace is there. */
export function OpeningHours() {
  const { t } = useLingui();
  const { data, error, refetch } = useRead('GET /api/workspace/opening-hours', {});
  return (
    <Card
      title={t`Opening hours`}
      actions={
        data && (
          <Badge tone={data.isOpen ? 'good' : 'neutral'}>{data.isOpen ? t`Open now` : t`Closed now`}</Badge>
        )
      }
    >
      {data ? (
        <Form key={JSON.stringify(data.openingHours)} saved={data.openingHours} timezone={data.timezone} />
      ) : error ? (
        <ErrorState error={error} retry={() => void refetch()} />
      ) : (
        <SkeletonRows rows={2} />
      )}
    </Card>
  );
}

function Form({ saved, timezone }: { saved: Saved; timezone: string }) {
  const { t } = useLingui();
  const isAdmin = useIsAdmin();
  const form = useEdits('opening hours', { hours: saved.hours, closedOn: saved.closedOn.join('\n') });
  const { hours, closedOn } = form.values;
  const save = useWrite('PUT /api/workspace/opening-hours', {
    refresh: ['GET /api/workspace/opening-hours'],
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save.mutate(
      { body: { hours, closedOn: linesOf(closedOn) } },
      {
        onSuccess: () => {
          form.forget();
          toast(t`The opening hours were saved`, {
            undo: () => save.mutate({ body: saved }, { onError: toastError }),
          });
        },
      },
    );
  };
  const { change } = form;
  const errorOf = (path: string): string | undefined => issueOf(save.error, path);
  const days = linesOf(closedOn);
  const paths = [
    ...hours.flatMap((_, index) => ['days', 'start', 'end'].map((field) => `hours.${index}.${field}`)),
    ...days.map((_, index) => `closedOn.${index}`),
  ];
  return (
    <KeptForm
      edits={form}
      aria-label={t`Opening hours`}
      className="flex flex-col gap-4 p-4"
      onSubmit={submit}
    >
      <p className="text-muted">
        <Trans>
          Rules and the autopilot ask for them. By the clock of the workspace, {timezone}. Without hours,
          somebody is always there.
        </Trans>
      </p>
      <fieldset disabled={!isAdmin} className="flex flex-col gap-4">
        {hours.map((one, index) => (
          <HoursFields
            // They have no ids, and none keeps a state of its own.
            key={index}
            number={index + 1}
            hours={one}
            onChange={(next) => change({ hours: hours.with(index, { ...one, ...next }) })}
            onRemove={() => change({ hours: hours.toSpliced(index, 1) })}
            errorOf={(field) => errorOf(`hours.${index}.${field}`)}
          />
        ))}
        <div>
          <Button
            small
            kind="ghost"
            icon={<Plus className="size-4" aria-hidden="true" />}
            onClick={() => change({ hours: [...hours, WORKING_HOURS] })}
          >
            <Trans>Add hours</Trans>
          </Button>
        </div>
        <TextAreaField
          label={t`Days on which nobody is there, one a line`}
          placeholder="2030-12-25"
          value={closedOn}
          onChange={({ target }) => change({ closedOn: target.value })}
          error={days.map((_, index) => errorOf(`closedOn.${index}`)).find(Boolean)}
        />
      </fieldset>
      <FormError>{generalErrorOf(save.error, paths)}</FormError>
      {isAdmin && (
        <div className="flex gap-2">
          <Button kind="primary" type="submit" busy={save.isPending} disabled={!form.isChanged}>
            <Trans>Save</Trans>
          </Button>
          {form.isChanged && !form.isKept && (
            <Button onClick={form.discard}>
              <Trans>Discard changes</Trans>
            </Button>
          )}
        </div>
      )}
    </KeptForm>
  );
}

function HoursFields({
  number,
  hours,
  onChange,
  onRemove,
  errorOf,
}: {
  number: number;
  hours: Hours;
  onChange: (next: Partial<Hours>) => void;
  onRemove: () => void;
  errorOf: (field: string) => string | undefined;
}) {
  const { t } = useLingui();
  const toggle = (day: number, isOn: boolean): void =>
    onChange({ days: DAYS.filter((known) => (known === day ? isOn : hours.days.includes(known))) });
  return (
    <div role="group" aria-label={t`Hours ${number}`} className="flex flex-wrap items-end gap-x-4 gap-y-2">
      <div className="flex flex-wrap gap-x-3 gap-y-1">
        {DAYS.map((day) => (
          <label key={day} className="flex items-center gap-1.5">
            <input
              type="checkbox"
              className="size-4 shrink-0 accent-accent"
              checked={hours.days.includes(day)}
              onChange={({ target }) => toggle(day, target.checked)}
            />
            {dayName(day)}
          </label>
        ))}
      </div>
      <TextField
        label={t`Opens at`}
        type="time"
        required
        value={hours.start}
        onChange={({ target }) => onChange({ start: target.value })}
        error={errorOf('start')}
      />
      <TextField
        label={t`Closes at`}
        type="time"
        required
        value={hours.end}
        onChange={({ target }) => onChange({ end: target.value })}
        error={errorOf('end')}
      />
      <IconButton label={t`Remove hours ${number}`} onClick={onRemove}>
        <Trash2 className="size-4" aria-hidden="true" />
      </IconButton>
      {errorOf('days') && <p className="w-full text-[0.8125rem] text-bad">{errorOf('days')}</p>}
    </div>
  );
}
