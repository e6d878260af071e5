import { Trans, useLingui } from '@lingui/react/macro';
import { Attachments, type FilesUpdate } from '#console/components/attachments.tsx';
import { SelectField, TextAreaField } from '#console/components/field.tsx';
import { CHANNELS } from '#console/lib/line.ts';
import { SpanFields } from './span-fields.tsx';
import type { MessageDraft } from './step-draft.ts';
import { StepTexts } from './step-texts.tsx';

/** A message of a campaign. */
export function StepFields({
  step,
  listId,
  index,
  onChange,
  onFilesChange,
  onBusy,
  errorOf,
}: {
  step: MessageDraft;
  /** The list whose leads get it; empty: none. */
  listId: string;
  index: number;
  onChange: (step: MessageDraft) => void;
  onFilesChange: (update: FilesUpdate) => void;
  /** Called with true while files are being uploaded, then with false. */
  onBusy: (busy: boolean) => void;
  errorOf: (field: string) => string | undefined;
}) {
  const { t } = useLingui();
  return (
    <div className="flex flex-col gap-3">
      <SelectField
        label={t`Channel`}
        value={step.messageType}
        options={Object.entries(CHANNELS).map(([value, label]) => ({ value, label }))}
        onChange={(event) =>
          onChange({ ...step, messageType: event.target.value as MessageDraft['messageType'] })
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
      <SpanFields
        legend={index === 0 ? t`Wait after a lead enters` : t`Wait after the previous step`}
        value={step}
        onChange={(span) => onChange({ ...step, ...span })}
        errorOf={(unit) => errorOf(`delay.${unit}`)}
      />
    </div>
  );
}
