import { Trans, useLingui } from '@lingui/react/macro';
import { Plus } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { useRead, useWrite } from '#console/api/queries.ts';
import { Button } from '#console/components/button.tsx';
import { Drawer } from '#console/components/dialog.tsx';
import { FormError, generalErrorOf, issueOf, SelectField, TextField } from '#console/components/field.tsx';
import { toast } from '#console/components/toast.tsx';
import { useUnsentForm } from '#console/lib/unsent.ts';
import { type CampaignDraft, bodyOf, draftOf, NEW_CAMPAIGN } from './campaign-draft.ts';
import { type Campaign, CAMPAIGNS, isMessage } from './campaign.ts';
import { DraftConsent } from './consent.tsx';
import { DraftForecast } from './forecast.tsx';
import { SendingFields } from './sending-fields.tsx';
import { NEW_STEP, type StepDraft } from './step-draft.ts';
import { StepFields } from './step-fields.tsx';

const FORM = 'campaign-form';
const OPTIONS = { refresh: CAMPAIGNS };
const FIELDS = [
  'name',
  'description',
  'listId',
  'eligibleLineIds',
  'poolId',
  'stickinessPolicy',
  'sendWindowStart',
  'sendWindowEnd',
  'timezone',
];
const STEP_FIELDS = [
  'message',
  'messageType',
  'subject',
  'smsFallbackMessage',
  'delay.days',
  'delay.hours',
  'delay.minutes',
];

const VARIANT_FIELDS = ['body', 'subject', 'weight'];

/** Creates a draft, or changes the draft given. Once a campaign has started its steps stay as they are. */
export function CampaignForm({
  campaign,
  close,
  onSaved,
}: {
  campaign?: Campaign;
  close: () => void;
  onSaved: (campaignId: string) => void;
}) {
  const { t } = useLingui();
  const lists = useRead('GET /api/lists', {});
  const [saved] = useState<CampaignDraft>(() => (campaign ? draftOf(campaign) : NEW_CAMPAIGN()));
  // What was written over an older version is not shown over a newer one.
  const form = useUnsentForm(
    campaign ? `campaign ${campaign._id} ${campaign.updatedAt}` : 'new campaign',
    saved,
  );
  const draft = form.value;
  const setDraft = form.change;
  const [uploads, setUploads] = useState(0);
  const change = (next: Partial<CampaignDraft>): void => setDraft((current) => ({ ...current, ...next }));
  const { steps } = draft;
  // What decides and waits is made over the API.
  const keepsSteps = campaign !== undefined && !campaign.steps.every(isMessage);
  const create = useWrite('POST /api/campaigns', OPTIONS);
  const update = useWrite('PATCH /api/campaigns/{id}', OPTIONS);
  const error = create.error ?? update.error;

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const body = bodyOf(draft);
    const callbacks = {
      onSuccess: () => {
        form.forget();
        toast(campaign ? t`The campaign was changed` : t`The campaign was created as a draft`);
      },
      afterRefetch: ({ campaign: saved }: { campaign: Campaign }): void => {
        close();
        onSaved(saved._id);
      },
    };
    const query = { refuseUnknownFields: 'true' } as const;
    const { steps: written, ...others } = body;
    const changed = keepsSteps ? others : { ...others, steps: written };
    if (campaign) update.mutate({ params: { id: campaign._id }, query, body: changed }, callbacks);
    else create.mutate({ query, body }, callbacks);
  };
  const changeStep = (key: string, update: (step: StepDraft) => StepDraft): void =>
    setDraft((current) => ({
      ...current,
      steps: current.steps.map((step) => (step.key === key ? update(step) : step)),
    }));
  const stepPaths = steps.flatMap(({ variants }, index) =>
    [
      ...STEP_FIELDS,
      ...variants.flatMap((_, number) => VARIANT_FIELDS.map((field) => `variants.${number}.${field}`)),
    ].map((field) => `steps.${index}.${field}`),
  );

  return (
    <Drawer
      open
      unsaved={form.isChanged}
      onClose={() => {
        form.forget();
        close();
      }}
      title={campaign ? t`Edit the campaign` : t`New campaign`}
      description={t`It is saved as a draft; nothing is sent until it is started.`}
      footer={
        <Button
          kind="primary"
          type="submit"
          form={FORM}
          busy={create.isPending || update.isPending || uploads > 0}
        >
          {campaign ? t`Save` : t`Create draft`}
        </Button>
      }
    >
      <form id={FORM} className="flex flex-col gap-4" onSubmit={submit}>
        {form.isKept && (
          <p role="status" className="rounded-lg bg-accent-soft px-3 py-2 text-accent-ink">
            <Trans>What you wrote before is here again. It has not been saved.</Trans>
          </p>
        )}
        <TextField
          label={t`Name`}
          value={draft.name}
          onChange={(event) => change({ name: event.target.value })}
          error={issueOf(error, 'name')}
        />
        <TextField
          label={t`Description (optional)`}
          value={draft.description}
          onChange={(event) => change({ description: event.target.value })}
          error={issueOf(error, 'description')}
        />
        <SelectField
          label={t`List`}
          value={draft.listId}
          hint={t`Its leads enter when the campaign starts.`}
          options={[
            { value: '', label: t`None: leads are added one by one` },
            ...(lists.data?.lists ?? []).map((list) => ({ value: list._id, label: list.name })),
          ]}
          onChange={(event) => change({ listId: event.target.value })}
          error={issueOf(error, 'listId')}
        />
        {!keepsSteps && (
          <fieldset className="flex flex-col gap-3">
            <legend className="mb-2 font-medium">
              <Trans>Steps</Trans>
            </legend>
            {steps.map((step, index) => (
              <StepFields
                key={step.key}
                step={step}
                listId={draft.listId}
                index={index}
                onChange={(next) => changeStep(step.key, () => next)}
                onFilesChange={(update) =>
                  changeStep(step.key, (current) => ({ ...current, files: update(current.files) }))
                }
                onBusy={(busy) => setUploads((count) => count + (busy ? 1 : -1))}
                onRemove={
                  steps.length > 1
                    ? () => change({ steps: steps.filter((other) => other !== step) })
                    : undefined
                }
                errorOf={(field) => issueOf(error, `steps.${index}.${field}`)}
              />
            ))}
            <div>
              <Button
                small
                icon={<Plus className="size-4" aria-hidden="true" />}
                onClick={() => change({ steps: [...steps, { ...NEW_STEP(), days: '1' }] })}
              >
                <Trans>Add a step</Trans>
              </Button>
            </div>
          </fieldset>
        )}
        <SendingFields draft={draft} onChange={change} errorOf={(field) => issueOf(error, field)} />
        <fieldset className="flex flex-col gap-2">
          <legend className="mb-2 font-medium">
            <Trans>Each lead</Trans>
          </legend>
          <Check
            label={t`Send only to leads who consented`}
            checked={draft.requireConsent}
            onChange={(requireConsent) => change({ requireConsent })}
          />
          <Check
            label={t`Stop for a lead that replies`}
            checked={draft.onReply !== 'continue'}
            onChange={(stops) => change({ onReply: stops ? 'stop' : 'continue' })}
          />
          <Check
            label={t`Let the language model reword each message for its lead`}
            checked={draft.needsAiPersonalization}
            onChange={(needsAiPersonalization) => change({ needsAiPersonalization })}
          />
        </fieldset>
        <div className="flex flex-col gap-2">
          <DraftForecast draft={draft} />
          <DraftConsent draft={draft} ownHours={campaign?.quietHours ?? null} />
        </div>
        <FormError>{generalErrorOf(error, [...FIELDS, ...stepPaths])}</FormError>
      </form>
    </Drawer>
  );
}

const Check = ({
  label,
  checked,
  onChange,
}: {
  label: string;
  checked: boolean;
  onChange: (checked: boolean) => void;
}) => (
  <label className="flex items-center gap-2">
    <input
      type="checkbox"
      className="size-4 shrink-0 accent-accent"
      checked={checked}
      onChange={(event) => onChange(event.target.checked)}
    />
    {label}
  </label>
);
