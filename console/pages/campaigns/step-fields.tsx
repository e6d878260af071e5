import { msg } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { Trash2 } from 'lucide-react';
import { Attachments, type FilesUpdate } from '#console/components/attachments.tsx';
import { IconButton } from '#console/components/button.tsx';
import { SelectField, TextAreaField, TextField } from '#console/components/field.tsx';
import { CHANNELS } from '#console/lib/line.ts';
import type { StepDraft } from './step-draft.ts';
import { StepTexts } from './step-texts.tsx';

const DELAYS = [
  { name: 'days', label: msg`Days`, most: 365 },
  { name: 'hours', label: msg`Hours`, most: 8760 },
  { name: 'minutes', label: msg`Minutes`, most: 525_600 },
] as const;

/** One step of a campaign. */
export function StepFields({
  step,
  listId,
  index,
  onChange,
  onFilesChange,
  onBusy,
  onRemove,
  errorOf,
}: {
  step: StepDraft;
  /** The list whose leads get it; empty: none. */
  listId: string;
  index: number;
  onChange: (step: StepDraft) => void;
  onFilesChange: (update: FilesUpdate) => void;
  /** Called with true while files are being uploaded, then with false. */
  onBusy: (busy: boolean) => void;
  onRemove: (() => void) | undefined;
  errorOf: (field: string) => string | undefined;
}) {
  const { t } = useLingui();
  const number = index + 1;
  return (
    <section aria-label={t`Step ${number}`} className="rounded-lg border border-line p-3">
      <div className="mb-3 flex items-center justify-between gap-2">
        <h3 className="font-medium">
          <Trans>Step {number}</Trans>
        </h3>
        {onRemove && (
          <IconButton label={t`Remove step ${number}`} onClick={onRemove}>
            <Trash2 className="size-4" aria-hidden="true" />
          </IconButton>
        )}
      </div>
      <div className="flex flex-col gap-3">
        <SelectField
          label={t`Channel`}
          value={step.messageType}
          options={Object.entries(CHANNELS).map(([value, label]) => ({ value, label }))}
          onChange={(event) =>
            onChange({ ...step, messageType: event.target.value as StepDraft['messageType'] })
          }
          error={errorOf('messageType')}
        />
        <StepTexts step={step} listId={listId} index={index} onChange={onChange} errorOf={errorOf} />
        <div className="flex items-center gap-2">
          <Attachments files={step.files} onChange={onFilesChange} onBusy={onBusy} />
        </div>
        {step.messageType === 'imessage' && (
          <>
            <label className="flex items-center gap-2">
              <input
                type="checkbox"
                className="size-4 shrink-0 accent-accent"
                checked={step.smsFallbackEnabled}
                onChange={(event) => onChange({ ...step, smsFallbackEnabled: event.target.checked })}
              />
              <Trans>Send an SMS to a contact without iMessage</Trans>
            </label>
            {step.smsFallbackEnabled && (
              <TextAreaField
                label={t`Text of the SMS (optional)`}
                hint={t`Empty: the same text.`}
                value={step.smsFallbackMessage}
                onChange={(event) => onChange({ ...step, smsFallbackMessage: event.target.value })}
                error={errorOf('smsFallbackMessage')}
              />
            )}
          </>
        )}
        <fieldset>
          <legend className="mb-1.5 text-[0.8125rem] text-muted">
            {index === 0 ? t`Wait after a lead enters` : t`Wait after the previous step`}
          </legend>
          <div className="grid grid-cols-3 gap-3">
            {DELAYS.map(({ name, label, most }) => (
              <TextField
                key={name}
                label={t(label)}
                type="number"
                min={0}
                max={most}
                placeholder="0"
                value={step[name]}
                onChange={(event) => onChange({ ...step, [name]: event.target.value })}
                error={errorOf(`delay.${name}`)}
              />
            ))}
          </div>
        </fieldset>
      </div>
    </section>
  );
}
