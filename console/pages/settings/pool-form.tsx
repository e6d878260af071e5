import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { useRead, useWrite } from '#console/api/queries.ts';
import { issueOf, SelectField, TextField } from '#console/components/field.tsx';
import { FormDialog } from '#console/components/form-dialog.tsx';
import { toast } from '#console/components/toast.tsx';
import { lineAddress, lineName } from '#console/lib/line.ts';
import { bodyOf, draftOf, failovers, NEW_POOL, type Pool, type PoolDraft, strategies } from './pool-draft.ts';

const REFRESH = { refresh: ['GET /api/pools'] } as const;
const FIELDS = ['name', 'strategy', 'failover', 'failoverAfterMinutes', 'lines'];

/** Creates a pool, or changes the one given. */
export function PoolForm({ pool, close }: { pool: Pool | null; close: () => void }) {
  const { t } = useLingui();
  const [draft, setDraft] = useState<PoolDraft>(pool ? draftOf(pool) : NEW_POOL);
  const change = (next: Partial<PoolDraft>): void => setDraft((current) => ({ ...current, ...next }));
  const create = useWrite('POST /api/pools', REFRESH);
  const update = useWrite('PATCH /api/pools/{id}', REFRESH);
  const error = create.error ?? update.error;
  const submit = (): void => {
    const body = bodyOf(draft);
    const callbacks = {
      onSuccess: () => toast(pool ? t`The pool was changed` : t`The pool was created`),
      afterRefetch: close,
    };
    if (pool) update.mutate({ params: { id: pool._id }, body }, callbacks);
    else create.mutate({ body }, callbacks);
  };
  return (
    <FormDialog
      open
      onClose={close}
      title={pool ? t`Edit the pool` : t`Create a pool`}
      submit={pool ? t`Save` : t`Create`}
      busy={create.isPending || update.isPending}
      noValidate
      error={error}
      fields={FIELDS}
      onSubmit={submit}
    >
      <TextField
        label={t`Name`}
        value={draft.name}
        onChange={(event) => change({ name: event.target.value })}
        error={issueOf(error, 'name')}
      />
      <PoolLines weights={draft.weights} onChange={(weights) => change({ weights })} />
      {issueOf(error, 'lines') && <p className="text-bad">{issueOf(error, 'lines')}</p>}
      <SelectField
        label={t`Line for a message`}
        value={draft.strategy}
        options={strategies()}
        onChange={(event) => change({ strategy: event.target.value as PoolDraft['strategy'] })}
        error={issueOf(error, 'strategy')}
      />
      <label className="flex items-center gap-2">
        <input
          type="checkbox"
          className="size-4 shrink-0 accent-accent"
          checked={draft.sticky}
          onChange={(event) => change({ sticky: event.target.checked })}
        />
        <Trans>A contact keeps the line that wrote first</Trans>
      </label>
      <SelectField
        label={t`When a line cannot send, other lines take over`}
        value={draft.failover}
        options={failovers()}
        onChange={(event) => change({ failover: event.target.value as PoolDraft['failover'] })}
        error={issueOf(error, 'failover')}
      />
      {draft.failover !== 'never' && (
        <TextField
          label={t`After how many minutes`}
          inputMode="numeric"
          value={draft.failoverAfterMinutes}
          onChange={(event) => change({ failoverAfterMinutes: event.target.value })}
          error={issueOf(error, 'failoverAfterMinutes')}
        />
      )}
    </FormDialog>
  );
}

/** The lines of the workspace; those of the pool with their weights. */
function PoolLines({
  weights,
  onChange,
}: {
  weights: PoolDraft['weights'];
  onChange: (weights: PoolDraft['weights']) => void;
}) {
  const { t } = useLingui();
  const lines = useRead('GET /api/lines/by-user', {}).data?.lines ?? [];
  const toggle = (id: string): void => {
    const { [id]: known, ...others } = weights;
    onChange(known === undefined ? { ...weights, [id]: '1' } : others);
  };
  return (
    <div
      role="group"
      aria-label={t`Lines`}
      className="max-h-64 divide-y divide-line overflow-y-auto rounded-lg border border-line"
    >
      {lines.map((line) => {
        const name = lineName(line);
        return (
          <div key={line._id} className="flex items-center gap-2.5 px-3 py-2">
            <label className="flex min-w-0 flex-1 cursor-pointer items-center gap-2.5">
              <input
                type="checkbox"
                className="size-4 shrink-0 accent-accent"
                checked={weights[line._id] !== undefined}
                onChange={() => toggle(line._id)}
              />
              <span className="min-w-0 truncate">
                {name} <span className="text-muted">{lineAddress(line)}</span>
              </span>
            </label>
            {weights[line._id] !== undefined && (
              <input
                type="number"
                min={1}
                max={100}
                aria-label={t`Weight of ${name}`}
                className="h-8 w-16 rounded-lg border border-line bg-surface px-2"
                value={weights[line._id]}
                onChange={(event) => onChange({ ...weights, [line._id]: event.target.value })}
              />
            )}
          </div>
        );
      })}
    </div>
  );
}
