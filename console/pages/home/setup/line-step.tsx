import { useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { useRead } from '#console/api/queries.ts';
import { useIdentity } from '#console/api/workspace.ts';
import { ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { lineAddress, lineName } from '#console/lib/line.ts';
import { CarrierWizard } from './carrier-wizard.tsx';
import { NewLine } from './new-line.tsx';
import type { StepProps } from './step-props.ts';

/** Chooses where messages leave from, and connects it. */
export function LineStep({ done }: StepProps) {
  const { t } = useLingui();
  const { workspace } = useIdentity();
  const isTest = workspace.mode === 'test';
  const carriers = useRead('GET /api/lines/carriers', {});
  const lines = useRead('GET /api/lines/by-user', {});
  const [chosen, choose] = useState<string | null>(null);
  if (!carriers.data || !lines.data) {
    const error = carriers.error ?? lines.error;
    return error ? <ErrorState error={error} /> : <SkeletonRows rows={3} />;
  }
  const known = carriers.data.carriers;
  const carrier = known.find(({ provider }) => provider === chosen);
  const active = lines.data.lines.filter(({ provisioningStatus }) => provisioningStatus === 'active');
  if (isTest) return <NewLine channels={['imessage', 'sms', 'email']} />;
  return (
    <div className="flex flex-col gap-4">
      {done && chosen === null && (
        <p>{active.map((line) => `${lineName(line)} (${lineAddress(line) ?? t`no address`})`).join(', ')}</p>
      )}
      <fieldset>
        <legend className="mb-2 font-medium">
          {done ? t`Connect another one` : t`Where messages leave from`}
        </legend>
        <div className="grid gap-2 sm:grid-cols-2">
          {known.map(({ provider, guide }) => (
            <label
              key={provider}
              className="grid cursor-pointer grid-cols-[auto_1fr] content-start gap-x-2.5 rounded-lg border border-line p-3 hover:bg-hover has-checked:border-accent"
            >
              <input
                type="radio"
                name="carrier"
                className="mt-0.5 size-4 shrink-0 accent-accent"
                checked={chosen === provider}
                onChange={() => choose(provider)}
              />
              <span className="font-medium">{guide.title}</span>
              <span className="col-start-2 text-muted">{guide.summary}</span>
            </label>
          ))}
        </div>
      </fieldset>
      {carrier?.provisionsLines && <NewLine key={carrier.provider} channels={carrier.channels} />}
      {carrier && !carrier.provisionsLines && (
        <CarrierWizard key={carrier.provider} carrier={carrier} carriers={known} lines={lines.data.lines} />
      )}
    </div>
  );
}
