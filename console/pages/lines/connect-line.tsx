import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { useRead } from '#console/api/queries.ts';
import { useIdentity, useIsAdmin } from '#console/api/workspace.ts';
import { KeptNote } from '#console/components/kept-note.tsx';
import { EmptyState, ErrorState, SkeletonRows } from '#console/components/states.tsx';
import type { Line } from '#console/lib/line.ts';
import { guideOf } from './carrier-guides.ts';
import type { Carrier } from './carrier-settings.ts';
import { CarrierWizard } from './carrier-wizard.tsx';
import { useLineDraft } from './line-draft.ts';
import { NewLine } from './new-line.tsx';

const ALL_CHANNELS = ['imessage', 'sms', 'email'] as const;

interface Props {
  legend: string;
  /** A line of one's own that waits for its carrier. Default: a new one is requested. */
  line?: Line;
  /** Shows the line that was requested or connected. Default: it is only named. */
  onShow?: (lineId: string) => void;
}

/** Chooses where the messages of a line leave from, and connects it. */
export default function ConnectLine(props: Props) {
  const carriers = useRead('GET /api/lines/carriers', {});
  const lines = useRead('GET /api/lines/by-user', {});
  if (!carriers.data || !lines.data) {
    const error = carriers.error ?? lines.error;
    return error ? <ErrorState error={error} /> : <SkeletonRows rows={3} />;
  }
  return <Choice {...props} carriers={carriers.data.carriers} lines={lines.data.lines} />;
}

function Choice({
  legend,
  line,
  onShow,
  carriers,
  lines,
}: Props & { carriers: readonly Carrier[]; lines: readonly Line[] }) {
  const { workspace } = useIdentity();
  const isAdmin = useIsAdmin();
  const form = useLineDraft(carriers, line);
  const [provider, setProvider] = useState(form.values.provider);
  const usable = line
    ? carriers.filter(
        ({ provisionsLines, channels }) => !provisionsLines && channels.includes(line.requestedChannelType),
      )
    : carriers;
  const carrier = usable.find((one) => one.provider === provider);
  const choose = (next: string): void => {
    setProvider(next);
    form.change({ provider: next });
  };
  const parts = { form, onDone: form.discard, ...(onShow && { onShow }) };
  const note = form.isKept && (
    <KeptNote
      discard={() => {
        form.discard();
        setProvider('');
      }}
    />
  );
  if (workspace.mode === 'test')
    return (
      <div className="flex flex-col gap-4">
        {note}
        <NewLine channels={ALL_CHANNELS} {...parts} />
      </div>
    );
  return (
    <div className="flex flex-col gap-4">
      {note}
      <fieldset>
        <legend className="mb-2 font-medium">{legend}</legend>
        <div className="grid gap-2 sm:grid-cols-2">
          {usable
            .map((one) => ({ name: one.provider, guide: guideOf(one) }))
            .map(({ name, guide }) => (
              <label
                key={name}
                className="grid cursor-pointer grid-cols-[auto_1fr] content-start gap-x-2.5 rounded-lg border border-line p-3 hover:bg-hover has-checked:border-accent"
              >
                <input
                  type="radio"
                  name="carrier"
                  className="mt-0.5 size-4 shrink-0 accent-accent"
                  checked={provider === name}
                  onChange={() => choose(name)}
                />
                <span className="font-medium">{guide.title}</span>
                <span className="col-start-2 text-muted">{guide.summary}</span>
              </label>
            ))}
        </div>
      </fieldset>
      {carrier?.provisionsLines && (
        <NewLine key={provider} channels={carrier.channels} carrier={provider} {...parts} />
      )}
      {carrier &&
        !carrier.provisionsLines &&
        (isAdmin ? (
          <CarrierWizard
            key={provider}
            carrier={carrier}
            carriers={carriers}
            lines={lines}
            {...(line && { line })}
            {...parts}
          />
        ) : (
          <OnlyAdmins />
        ))}
    </div>
  );
}

/** In place of a form that a member cannot use. */
export function OnlyAdmins() {
  const { t } = useLingui();
  return (
    <EmptyState title={t`For admins`}>
      <Trans>Only an owner or admin of the workspace connects carriers.</Trans>
    </EmptyState>
  );
}
