import type { MessageDescriptor } from '@lingui/core';
import { msg, t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import type { FormEvent } from 'react';
import { useWrite } from '#console/api/queries.ts';
import { useIsAdmin } from '#console/api/workspace.ts';
import { Badge } from '#console/components/badge.tsx';
import { Button } from '#console/components/button.tsx';
import { CheckList } from '#console/components/check-list.tsx';
import { FormError, generalErrorOf, issueOf, SelectField, TextField } from '#console/components/field.tsx';
import { KeptForm } from '#console/components/kept-form.tsx';
import { Card } from '#console/components/page.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { type Edits, useEdits } from '#console/lib/unsent.ts';
import { type Hours, WouldHaveWaited } from './would-have-waited.tsx';

const states = () => [
  { value: 'true', label: t`On` },
  { value: 'false', label: t`Off` },
];
const laws = () => [
  { value: 'none', label: t({ message: 'None', context: 'law' }) },
  { value: 'us', label: t`United States, where it is stricter` },
];
const KINDS: Record<Hours['appliesTo'][number], MessageDescriptor> = {
  campaign: msg`Campaigns`,
  drip: msg`Drips`,
  message: msg`Other messages`,
};
const FIELDS = ['enabled', 'start', 'end', 'law', 'appliesTo'];

/** The quiet hours of the workspace, and what they would have done; admins change them. */
export function QuietHours({ saved }: { saved: Hours }) {
  const { t } = useLingui();
  const isAdmin = useIsAdmin();
  const edits = useEdits('quiet hours', saved);
  const { values: hours, isChanged } = edits;
  const { start, end } = saved;
  return (
    <Card
      title={t`Quiet hours`}
      actions={<Badge tone={saved.enabled ? 'good' : 'warn'}>{saved.enabled ? t`On` : t`Off`}</Badge>}
    >
      <div className="grid gap-x-8 gap-y-6 p-4 lg:grid-cols-2">
        {isAdmin ? (
          <Form saved={saved} edits={edits} />
        ) : (
          <p>
            {saved.enabled ? (
              <Trans>
                Messages are sent from {start} to {end} by the clocks where people are.
              </Trans>
            ) : (
              <Trans>
                When they are on, messages are sent from {start} to {end} by the clocks where people are.
              </Trans>
            )}{' '}
            <Trans>Only an owner or admin of the workspace changes this.</Trans>
          </p>
        )}
        {/* Settings that are off are previewed as if they were on, for the decision to turn them on. */}
        <WouldHaveWaited hours={{ ...hours, enabled: true }} isOn={saved.enabled && !isChanged} />
      </div>
    </Card>
  );
}

function Form({ saved, edits }: { saved: Hours; edits: Edits<Hours> }) {
  const { t } = useLingui();
  const { values: hours, change, isChanged, isKept } = edits;
  const save = useWrite('PUT /api/workspace/quiet-hours', { refresh: ['GET /api/compliance'] });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save.mutate(
      { body: hours },
      {
        onSuccess: () => {
          edits.forget();
          toast(t`The quiet hours were saved`, {
            undo: () => save.mutate({ body: saved }, { onError: toastError }),
          });
        },
      },
    );
  };
  return (
    <KeptForm edits={edits} aria-label={t`Quiet hours`} className="flex flex-col gap-4" onSubmit={submit}>
      <SelectField
        label={t`State`}
        options={states()}
        value={String(hours.enabled)}
        onChange={({ target }) => change({ enabled: target.value === 'true' })}
        error={issueOf(save.error, 'enabled')}
      />
      <div className="grid grid-cols-2 gap-4">
        <TextField
          label={t`Send from`}
          type="time"
          required
          value={hours.start}
          onChange={({ target }) => change({ start: target.value })}
          error={issueOf(save.error, 'start')}
        />
        <TextField
          label={t`Send until`}
          type="time"
          required
          value={hours.end}
          onChange={({ target }) => change({ end: target.value })}
          error={issueOf(save.error, 'end')}
        />
      </div>
      <p className="-mt-2 text-[0.8125rem] text-muted">
        <Trans>By the clocks where people are: the lead’s time zone, else the area of the number.</Trans>
      </p>
      <SelectField
        label={t`Law`}
        options={laws()}
        value={hours.law}
        onChange={({ target }) => change({ law: target.value as Hours['law'] })}
        error={issueOf(save.error, 'law')}
      />
      <CheckList
        legend={t`Apply to`}
        options={KINDS}
        value={hours.appliesTo}
        onChange={(appliesTo) => change({ appliesTo })}
        error={issueOf(save.error, 'appliesTo')}
      />
      <FormError>{generalErrorOf(save.error, FIELDS)}</FormError>
      <div className="flex gap-2">
        <Button kind="primary" type="submit" busy={save.isPending} disabled={!isChanged}>
          <Trans>Save</Trans>
        </Button>
        {isChanged && !isKept && (
          <Button onClick={edits.discard}>
            <Trans>Discard</Trans>
          </Button>
        )}
      </div>
    </KeptForm>
  );
}
