import { Trans, useLingui } from '@lingui/react/macro';
import { Plus, Trash2 } from 'lucide-react';
import { useRef } from 'react';
import { Button, IconButton } from '#console/components/button.tsx';
import { TextAreaField, TextField } from '#console/components/field.tsx';
import { percentOf } from '#console/lib/format.ts';
import { VARIANT_NAMES } from './campaign.ts';
import { FieldChips } from './field-chips.tsx';
import { NEW_VARIANT, type MessageDraft, type VariantDraft } from './step-draft.ts';

const Code = ({ children }: { children: string }) => <code className="whitespace-nowrap">{children}</code>;

const FIELDS = (
  <>
    <Code>{'{{ firstName }}'}</Code>, <Code>{'{{ companyName }}'}</Code>,{' '}
    <Code>{'{{ customFields.name }}'}</Code>
  </>
);
const FIELDS_HINT = <Trans>Fields of the lead: {FIELDS}</Trans>;

interface Props {
  step: MessageDraft;
  /** The list whose leads get it; empty: none. */
  listId: string;
  index: number;
  onChange: (step: MessageDraft) => void;
  errorOf: (field: string) => string | undefined;
}

/** What a step sends: one message, or variants of which each lead gets one. */
export function StepTexts({ step, listId, index, onChange, errorOf }: Props) {
  const { t } = useLingui();
  const box = useRef<HTMLTextAreaElement>(null);
  const { variants } = step;
  const isTested = variants.length > 0;
  const addVariant = (): void =>
    onChange(
      isTested
        ? { ...step, variants: [...variants, NEW_VARIANT()] }
        : { ...step, message: '', variants: [{ ...NEW_VARIANT(), body: step.message }, NEW_VARIANT()] },
    );
  const removeVariant = (removed: VariantDraft): void => {
    const left = variants.filter((variant) => variant !== removed);
    const [last] = left;
    onChange(
      last && left.length === 1
        ? { ...step, message: last.body, subject: last.subject || step.subject, variants: [] }
        : { ...step, variants: left },
    );
  };
  return (
    <>
      {step.messageType === 'email' && (
        <TextField
          label={t`Subject`}
          value={step.subject}
          onChange={(event) => onChange({ ...step, subject: event.target.value })}
          error={errorOf('subject')}
        />
      )}
      {isTested ? (
        <>
          <p className="text-[0.8125rem] text-muted">
            <Trans>Each lead gets one of the texts, in proportion to their weights.</Trans> {FIELDS_HINT}
          </p>
          {variants.map((variant, number) => (
            <Variant
              key={variant.key}
              step={step}
              index={index}
              number={number}
              listId={listId}
              onChange={(next) => onChange({ ...step, variants: variants.with(number, next) })}
              onRemove={() => removeVariant(variant)}
              errorOf={(field) => errorOf(`variants.${number}.${field}`)}
            />
          ))}
        </>
      ) : (
        <>
          <TextAreaField
            ref={box}
            label={t`Message`}
            hint={FIELDS_HINT}
            value={step.message}
            onChange={(event) => onChange({ ...step, message: event.target.value })}
            error={errorOf('message')}
          />
          <FieldChips
            listId={listId}
            box={box}
            text={step.message}
            onChange={(message) => onChange({ ...step, message })}
          />
        </>
      )}
      {variants.length < VARIANT_NAMES.length && (
        <div>
          <Button small icon={<Plus className="size-4" aria-hidden="true" />} onClick={addVariant}>
            {isTested ? t`Add a variant` : t`Test another text`}
          </Button>
        </div>
      )}
    </>
  );
}

function Variant({
  step: { messageType, variants, subject },
  index,
  number,
  listId,
  onChange,
  onRemove,
  errorOf,
}: {
  step: MessageDraft;
  index: number;
  number: number;
  listId: string;
  onChange: (variant: VariantDraft) => void;
  onRemove: () => void;
  errorOf: (field: string) => string | undefined;
}) {
  const { t } = useLingui();
  const box = useRef<HTMLTextAreaElement>(null);
  const variant = variants[number] as VariantDraft;
  const name = VARIANT_NAMES[number] ?? '';
  const step = index + 1;
  const total = variants.reduce((sum, { weight }) => sum + Number(weight), 0);
  const share = percentOf(Number(variant.weight) / total);
  return (
    <div
      role="group"
      aria-label={t`Variant ${name} of step ${step}`}
      className="flex flex-col gap-3 border-l-2 border-line pl-3"
    >
      {messageType === 'email' && (
        <TextField
          label={t`Subject ${name} (optional)`}
          placeholder={subject}
          value={variant.subject}
          onChange={(event) => onChange({ ...variant, subject: event.target.value })}
          error={errorOf('subject')}
        />
      )}
      <TextAreaField
        ref={box}
        label={t`Message ${name}`}
        value={variant.body}
        onChange={(event) => onChange({ ...variant, body: event.target.value })}
        error={errorOf('body')}
      />
      <FieldChips
        listId={listId}
        box={box}
        text={variant.body}
        onChange={(body) => onChange({ ...variant, body })}
      />
      <div className="flex items-start gap-2">
        <div className="flex-1">
          <TextField
            label={t`Weight ${name}`}
            type="number"
            min={1}
            max={100}
            className="w-24"
            hint={total > 0 ? t`${share} of the leads` : undefined}
            value={variant.weight}
            onChange={(event) => onChange({ ...variant, weight: event.target.value })}
            error={errorOf('weight')}
          />
        </div>
        <IconButton label={t`Remove variant ${name}`} onClick={onRemove}>
          <Trash2 className="size-4" aria-hidden="true" />
        </IconButton>
      </div>
    </div>
  );
}
