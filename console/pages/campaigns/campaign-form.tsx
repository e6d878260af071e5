import { Plus } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { useRead, useWrite } from '#console/api/queries.ts';
import { Button } from '#console/components/button.tsx';
import { Drawer } from '#console/components/dialog.tsx';
import { FormError, generalErrorOf, issueOf, SelectField, TextField } from '#console/components/field.tsx';
import { toast } from '#console/components/toast.tsx';
import { type Campaign, type CampaignBody, CAMPAIGNS } from './campaign.ts';
import { draftOf, NEW_STEP, type StepDraft, stepOf } from './step-draft.ts';
import { StepFields } from './step-fields.tsx';

const FORM = 'campaign-form';
const OPTIONS = { refresh: CAMPAIGNS };
const FIELDS = ['name', 'description', 'listId', 'sendWindowStart', 'sendWindowEnd', 'stopOnReply'];
const STEP_FIELDS = ['message', 'messageType', 'subject', 'delay.days', 'delay.hours', 'delay.minutes'];

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
  const lists = useRead('GET /api/lists', {});
  const [name, setName] = useState(campaign?.name ?? '');
  const [description, setDescription] = useState(campaign?.description ?? '');
  const [listId, setListId] = useState(campaign?.listId ?? '');
  const [start, setStart] = useState(campaign?.sendWindowStart ?? '');
  const [end, setEnd] = useState(campaign?.sendWindowEnd ?? '');
  const [stopOnReply, setStopOnReply] = useState(campaign?.stopOnReply ?? true);
  const [steps, setSteps] = useState<readonly StepDraft[]>(campaign?.steps.map(draftOf) ?? [NEW_STEP()]);
  const create = useWrite('POST /api/campaigns', OPTIONS);
  const update = useWrite('PATCH /api/campaigns/{id}', OPTIONS);
  const error = create.error ?? update.error;

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const body: CampaignBody = {
      name,
      description,
      listId: listId === '' ? null : listId,
      sendWindowStart: start === '' ? null : start,
      sendWindowEnd: end === '' ? null : end,
      stopOnReply,
      steps: steps.map(stepOf),
    };
    const onSuccess = ({ campaign: saved }: { campaign: Campaign }): void => {
      toast(campaign ? 'The campaign was changed' : 'The campaign was created as a draft');
      close();
      onSaved(saved._id);
    };
    if (campaign) update.mutate({ params: { id: campaign._id }, body }, { onSuccess });
    else create.mutate({ body }, { onSuccess });
  };
  const setStep = (index: number, step: StepDraft): void => setSteps(steps.with(index, step));
  const stepPaths = steps.flatMap((_, index) => STEP_FIELDS.map((field) => `steps.${index}.${field}`));

  return (
    <Drawer
      open
      onClose={close}
      title={campaign ? 'Edit the campaign' : 'New campaign'}
      description="It is saved as a draft; nothing is sent until it is started."
      footer={
        <Button kind="primary" type="submit" form={FORM} busy={create.isPending || update.isPending}>
          {campaign ? 'Save' : 'Create draft'}
        </Button>
      }
    >
      <form id={FORM} className="flex flex-col gap-4" onSubmit={submit}>
        <TextField
          label="Name"
          value={name}
          onChange={(event) => setName(event.target.value)}
          error={issueOf(error, 'name')}
        />
        <TextField
          label="Description (optional)"
          value={description}
          onChange={(event) => setDescription(event.target.value)}
          error={issueOf(error, 'description')}
        />
        <SelectField
          label="List"
          value={listId}
          hint="Its leads enter when the campaign starts."
          options={[
            { value: '', label: 'None: leads are added one by one' },
            ...(lists.data?.lists ?? []).map((list) => ({ value: list._id, label: list.name })),
          ]}
          onChange={(event) => setListId(event.target.value)}
          error={issueOf(error, 'listId')}
        />
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label="Send from (optional)"
            type="time"
            value={start}
            onChange={(event) => setStart(event.target.value)}
            error={issueOf(error, 'sendWindowStart')}
          />
          <TextField
            label="Send until (optional)"
            type="time"
            value={end}
            onChange={(event) => setEnd(event.target.value)}
            error={issueOf(error, 'sendWindowEnd')}
          />
        </div>
        <label className="flex items-center gap-2">
          <input
            type="checkbox"
            className="size-4 accent-accent"
            checked={stopOnReply}
            onChange={(event) => setStopOnReply(event.target.checked)}
          />
          Stop for a lead that replies
        </label>
        <fieldset className="flex flex-col gap-3">
          <legend className="mb-2 font-medium">Steps</legend>
          {steps.map((step, index) => (
            <StepFields
              key={step.key}
              step={step}
              index={index}
              onChange={(next) => setStep(index, next)}
              onRemove={
                steps.length > 1 ? () => setSteps(steps.filter((other) => other !== step)) : undefined
              }
              errorOf={(field) => issueOf(error, `steps.${index}.${field}`)}
            />
          ))}
          <div>
            <Button
              small
              icon={<Plus className="size-4" aria-hidden="true" />}
              onClick={() => setSteps([...steps, { ...NEW_STEP(), days: '1' }])}
            >
              Add a step
            </Button>
          </div>
        </fieldset>
        <FormError>{generalErrorOf(error, [...FIELDS, ...stepPaths])}</FormError>
      </form>
    </Drawer>
  );
}
