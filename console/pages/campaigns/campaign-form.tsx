import { Trans, useLingui } from '@lingui/react/macro';
import { Link } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { useRead, useWrite } from '#console/api/queries.ts';
import { Button } from '#console/components/button.tsx';
import { Check } from '#console/components/check.tsx';
import { ConfirmDialog } from '#console/components/confirm.tsx';
import { FormError, generalErrorOf, issueOf, SelectField, TextField } from '#console/components/field.tsx';
import { Page } from '#console/components/page.tsx';
import { KeptForm } from '#console/components/kept-form.tsx';
import { numberOf } from '#console/lib/format.ts';
import { toast } from '#console/components/toast.tsx';
import { useEdits } from '#console/lib/unsent.ts';
import { localIn, momentIn } from '#console/lib/workspace-time.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import {
  type CampaignDraft,
  bodyOf,
  changedSteps,
  draftOf,
  editOf,
  NEW_CAMPAIGN,
  onReplyOf,
} from './campaign-draft.ts';
import { type Campaign, CAMPAIGNS } from './campaign.ts';
import { DraftConsent } from './consent.tsx';
import { ConditionFields } from './condition-fields.tsx';
import { type Edit, EditReview } from './edit-review.tsx';
import { DraftForecast } from './forecast.tsx';
import { SendingFields } from './sending-fields.tsx';
import { StepBuilder } from './step-builder.tsx';
import { conditionPaths, stepPaths } from './step-paths.ts';
import { asksAboutReplies } from './step-tree.ts';

const OPTIONS = { refresh: CAMPAIGNS };
const STRICT = { refuseUnknownFields: 'true' } as const;
const FIELDS = [
  'name',
  'description',
  'listId',
  'segmentId',
  'audience',
  'eligibleLineIds',
  'poolId',
  'stickinessPolicy',
  'sendWindowStart',
  'sendWindowEnd',
  'timezone',
  'onReply',
  'finishBy',
];

/** Creates a draft, or changes the campaign given: once it has started, its name, its deadline and its steps. */
export default function CampaignForm({
  campaign,
  close,
  onSaved,
}: {
  campaign?: Campaign;
  close: () => void;
  onSaved: (campaignId: string) => void;
}) {
  const { t } = useLingui();
  const zone = useTimeZone();
  const [saved] = useState<CampaignDraft>(() => (campaign ? draftOf(campaign) : NEW_CAMPAIGN()));
  const [editor] = useState(campaign ? `campaign ${campaign._id} ${campaign.updatedAt}` : 'campaign new');
  // What was written over an older version is not shown over a newer one.
  const form = useEdits(editor, saved);
  const { values: draft, change } = form;
  const [uploads, setUploads] = useState(0);
  const [asks, setAsks] = useState(false);
  const [version] = useState(campaign?.version ?? 1);
  const [review, setReview] = useState<Edit | null>(null);
  const { steps } = draft;
  const create = useWrite('POST /api/campaigns', OPTIONS);
  const update = useWrite('PATCH /api/campaigns/{id}', OPTIONS);
  const dryRun = useWrite('POST /api/campaigns/{id}/dry-run');
  const error = create.error ?? update.error ?? dryRun.error;
  const hasStarted = campaign !== undefined && campaign.status !== 'draft';
  const edited = hasStarted ? changedSteps(draft, saved) : null;

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!campaign || !edited) return save();
    update.reset();
    dryRun.mutate(
      { params: { id: campaign._id }, query: STRICT, body: { steps: edited } },
      { whileShown: (found) => setReview({ found, before: campaign.steps, after: edited }) },
    );
  };
  const save = (): void => {
    setReview(null);
    const callbacks = {
      onSuccess: () => {
        form.forget();
        toast(campaign ? t`The campaign was changed` : t`The campaign was created as a draft`);
      },
      afterRefetch: ({ campaign: saved }: { campaign: Campaign }): void => {
        if (campaign) close();
        onSaved(saved._id);
      },
    };
    const body = hasStarted ? editOf(draft, saved, version) : bodyOf(draft);
    if (campaign) update.mutate({ params: { id: campaign._id }, query: STRICT, body }, callbacks);
    else create.mutate({ query: STRICT, body: bodyOf(draft) }, callbacks);
  };
  const discard = (): void => {
    form.forget();
    close();
  };

  return (
    <Page
      title={campaign ? t`Edit the campaign` : t`New campaign`}
      description={
        hasStarted
          ? t`It has started: who gets it, and from which lines and when, stays as it is. Whoever has not got a changed step gets the new one.`
          : t`It is saved as a draft; nothing is sent until it is started.`
      }
    >
      <KeptForm
        edits={form}
        className="flex max-w-3xl flex-col gap-4 [&_:is(input,select,textarea,button)]:scroll-mb-24"
        onSubmit={submit}
      >
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
        {!hasStarted && <Audience draft={draft} change={change} errorOf={(field) => issueOf(error, field)} />}
        <StepBuilder
          steps={steps}
          listId={draft.listId}
          isReplyOpen={draft.onReply === ''}
          change={(update) => change((now) => ({ steps: update(now.steps) }))}
          onBusy={(busy) => setUploads((count) => count + (busy ? 1 : -1))}
          errorOf={(path) => issueOf(error, path)}
        />
        {!hasStarted && (
          <>
            <SendingFields draft={draft} onChange={change} errorOf={(field) => issueOf(error, field)} />
            <EachLead draft={draft} change={change} errorOf={(field) => issueOf(error, field)} />
          </>
        )}
        <TextField
          label={t`To be finished by (optional)`}
          type="datetime-local"
          hint={t`By the clock of the workspace: ${zone}. Nothing is cut off then: the campaign goes on. If it will be late, the forecast says so, and webhooks get campaign.will_be_late.`}
          value={draft.finishBy === '' ? '' : localIn(zone, new Date(draft.finishBy))}
          onChange={({ target: { value } }) =>
            change({ finishBy: value === '' ? '' : momentIn(zone, value).toISOString() })
          }
          error={issueOf(error, 'finishBy')}
        />
        {!hasStarted && (
          <div className="flex flex-col gap-2">
            <DraftForecast draft={draft} />
            <DraftConsent draft={draft} ownHours={campaign?.quietHours ?? null} />
          </div>
        )}
        <FormError>
          {generalErrorOf(error, [
            ...FIELDS,
            ...conditionPaths('stopWhen', draft.stopWhen),
            ...stepPaths(steps),
          ])}
        </FormError>
        {/* What is written is longer than a window: the buttons stay in sight, and come after the last field. */}
        <div className="sticky bottom-0 -mx-1 flex justify-end gap-2 border-t border-line bg-canvas px-1 py-3">
          <Button onClick={() => (form.isChanged ? setAsks(true) : discard())}>
            <Trans>Cancel</Trans>
          </Button>
          <Button
            kind="primary"
            type="submit"
            busy={create.isPending || update.isPending || dryRun.isPending || uploads > 0}
          >
            {edited ? t`Review changes` : campaign ? t`Save` : t`Create draft`}
          </Button>
        </div>
      </KeptForm>
      {review && <EditReview edit={review} onSave={save} close={() => setReview(null)} />}
      <ConfirmDialog
        open={asks}
        close={() => setAsks(false)}
        title={t`Discard what you have entered?`}
        confirm={t`Discard`}
        onConfirm={discard}
      >
        <p>
          <Trans>It has not been saved.</Trans>
        </p>
      </ConfirmDialog>
    </Page>
  );
}

interface Part {
  draft: CampaignDraft;
  change: (next: Partial<CampaignDraft>) => void;
  errorOf: (field: string) => string | undefined;
}

/** Who gets it. */
function Audience({ draft, change, errorOf }: Part) {
  const { t } = useLingui();
  const lists = useRead('GET /api/lists', {});
  const segments = useRead('GET /api/segments', { query: { limit: 200 } }).data?.segments ?? [];
  return (
    <>
      <SelectField
        label={t`List`}
        value={draft.listId}
        hint={
          segments.length > 0 ? (
            t`Its leads enter when the campaign starts.`
          ) : (
            <Trans>
              Its leads enter when the campaign starts. For contacts about whom something holds, such as a
              tag, make a{' '}
              <Link to="/segments" className="text-accent-ink underline">
                segment
              </Link>
              : what you have written here stays.
            </Trans>
          )
        }
        options={[
          { value: '', label: t`None: leads are added one by one` },
          ...(lists.data?.lists ?? []).map((list) => ({ value: list._id, label: list.name })),
        ]}
        onChange={(event) => change({ listId: event.target.value, segmentId: '' })}
        error={errorOf('listId')}
      />
      {segments.length > 0 && (
        <SelectField
          label={t`Segment`}
          value={draft.segmentId}
          hint={t`In place of a list.`}
          options={[
            { value: '', label: t`None` },
            ...segments.map(({ _id, name, count }) => ({
              value: _id,
              label: `${name} (${numberOf(count)})`,
            })),
          ]}
          onChange={(event) => change({ segmentId: event.target.value, listId: '' })}
          error={errorOf('segmentId')}
        />
      )}
      {draft.segmentId !== '' && (
        <SelectField
          label={t`Who of the segment`}
          value={draft.audience}
          options={[
            { value: 'snapshot', label: t`Who is in it at the start` },
            { value: 'live', label: t`Also who comes to be in it later` },
          ]}
          onChange={(event) => change({ audience: event.target.value === 'live' ? 'live' : 'snapshot' })}
          error={errorOf('audience')}
        />
      )}
    </>
  );
}

/** What applies to each lead. */
function EachLead({ draft, change, errorOf }: Part) {
  const { t } = useLingui();
  return (
    <fieldset className="flex flex-col gap-4">
      <legend className="mb-2 font-medium">
        <Trans>Each lead</Trans>
      </legend>
      <SelectField
        label={t`When a lead replies`}
        value={onReplyOf(draft)}
        hint={
          draft.onReply === '' && asksAboutReplies(draft.steps)
            ? t`A reply no longer stops the campaign, because a step asks about it.`
            : undefined
        }
        options={[
          { value: 'stop', label: t`The campaign stops for it` },
          { value: 'pause', label: t`The campaign pauses for it, until somebody lets it go on` },
          { value: 'continue', label: t`The campaign goes on` },
        ]}
        onChange={(event) => change({ onReply: event.target.value as CampaignDraft['onReply'] })}
        error={errorOf('onReply')}
      />
      {draft.onReply === 'stop' && asksAboutReplies(draft.steps) && (
        <p className="text-warn">
          <Trans>
            A reply stops the campaign for the contact, who then comes to no condition about replies.
          </Trans>
        </p>
      )}
      <div role="group" aria-label={t`Stop for a lead`} className="flex flex-col gap-2">
        <p className="text-[0.8125rem] text-muted">
          <Trans>The campaign always stops for a lead that opts out, is not reachable or is removed.</Trans>{' '}
          {draft.stopWhen.length === 0 ? (
            <Trans>It can also stop for other reasons.</Trans>
          ) : (
            <Trans>It also stops as soon as one of these holds:</Trans>
          )}
        </p>
        <ConditionFields
          conditions={draft.stopWhen}
          joined="any"
          fewest={0}
          add={t`Add a reason to stop`}
          onChange={(stopWhen) => change({ stopWhen })}
          errorOf={(field) => errorOf(`stopWhen.${field}`)}
        />
      </div>
      <Check
        label={t`Send only to leads who consented`}
        checked={draft.requireConsent}
        onChange={(requireConsent) => change({ requireConsent })}
      />
      <Check
        label={t`Let the language model reword each message for its lead`}
        checked={draft.needsAiPersonalization}
        onChange={(needsAiPersonalization) => change({ needsAiPersonalization })}
      />
    </fieldset>
  );
}
