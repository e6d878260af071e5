import { plural } from '@lingui/core/macro';
import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { useRead, useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { Button } from '#console/components/button.tsx';
import { issueOf, TextAreaField } from '#console/components/field.tsx';
import { FormDialog } from '#console/components/form-dialog.tsx';
import { toast } from '#console/components/toast.tsx';
import { allSteps, placeOf } from '#console/lib/step-places.ts';
import { type Campaign, CAMPAIGNS, isMessage, textsOf } from './campaign.ts';

type Correction = ResponseOf<'GET /api/campaigns/{id}/corrections'>['steps'][number];
type Reason = Correction['cannot'][number]['reason'];

const REFRESH = [...CAMPAIGNS, 'GET /api/messages'] as const;
const FIELDS = ['message'];

/** The texts of a campaign that have changed since leads got them, to correct. */
export function Corrections({ campaign }: { campaign: Campaign }) {
  const { t } = useLingui();
  const canSend = campaign.status !== 'draft' && campaign.status !== 'archived';
  const { data } = useRead(
    'GET /api/campaigns/{id}/corrections',
    { params: { id: campaign._id } },
    { enabled: campaign.version > 1 && canSend },
  );
  if (!canSend || !data || data.steps.length === 0) return null;
  return (
    <section
      aria-label={t`Corrections`}
      className="mb-4 divide-y divide-line rounded-lg border border-line bg-surface"
    >
      {data.steps.map((correction) => (
        <StepCorrection key={correction.stepId} campaign={campaign} correction={correction} />
      ))}
    </section>
  );
}

function StepCorrection({ campaign, correction }: { campaign: Campaign; correction: Correction }) {
  const { t } = useLingui();
  const { stepId, leads, byEdit, byMessage, cannot } = correction;
  const number = placeOf(campaign.steps, stepId);
  const [asks, setAsks] = useState(false);
  const own = textOf(campaign, stepId);
  const [message, setMessage] = useState(own);
  const reached = byEdit + byMessage;
  const correct = useWrite('POST /api/campaigns/{id}/corrections', { refresh: REFRESH });
  const submit = (cursor: string | null = null, before = 0): void =>
    correct.mutate(
      {
        params: { id: campaign._id },
        body: {
          stepId,
          ...(message !== own && message.trim() !== '' && { message }),
          ...(cursor !== null && { cursor }),
        },
      },
      {
        onSuccess: ({ edited, sent, nextCursor }) => {
          const done = before + edited + sent;
          if (nextCursor !== null) return submit(nextCursor, done);
          toast(doneText(done));
        },
        whileShown: ({ nextCursor }) => setAsks(nextCursor !== null),
      },
    );
  return (
    <div className="flex flex-wrap items-center gap-3 px-3 py-2">
      <p className="min-w-0 flex-1 basis-60">
        <Trans>Step {number} has changed.</Trans>{' '}
        <Plural value={leads} one="# lead got the former text." other="# leads got the former text." />{' '}
        {cannot.length > 0 && reached === 0 && <Trans>None of them can be written to.</Trans>}
      </p>
      {reached > 0 && (
        <Button
          small
          onClick={() => {
            setMessage(own);
            setAsks(true);
          }}
        >
          <Trans>Correct it</Trans>
        </Button>
      )}
      <FormDialog
        open={asks}
        onClose={() => setAsks(false)}
        title={t`Correct step ${number} for those who got the former text?`}
        submit={plural(reached, { one: 'Correct it for # lead', other: 'Correct it for # leads' })}
        busy={correct.isPending}
        error={correct.error}
        fields={FIELDS}
        onSubmit={() => submit()}
      >
        <ul className="flex list-disc flex-col gap-1 pl-5">
          {byEdit > 0 && (
            <li>
              <Plural
                value={byEdit}
                one="# message is edited where it is."
                other="# messages are edited where they are."
              />
            </li>
          )}
          {byMessage > 0 && (
            <li>
              <Plural
                value={byMessage}
                one="# lead gets another message, since its message cannot be edited."
                other="# leads get another message, since theirs cannot be edited."
              />
            </li>
          )}
          {cannot.map(({ reason, leads: count }) => (
            <li key={reason} className="text-muted">
              {cannotText(reason, count)}
            </li>
          ))}
        </ul>
        {byEdit > 0 && own !== '' && (
          <div>
            <p className="mb-1.5 text-muted">
              <Trans>It then says:</Trans>
            </p>
            <p className="rounded-lg border border-line p-3 break-words whitespace-pre-wrap">{own}</p>
          </div>
        )}
        {byMessage > 0 && (
          <TextAreaField
            label={t`The other message`}
            hint={
              own === ''
                ? t`Empty: the text of the step. It leaves at the pace of your lines.`
                : t`It leaves at the pace of your lines.`
            }
            value={message}
            onChange={(event) => setMessage(event.target.value)}
            error={issueOf(correct.error, 'message')}
          />
        )}
        <p className="text-muted">
          <Trans>Nobody gets the correction twice.</Trans>
        </p>
      </FormDialog>
    </div>
  );
}

/** The text of a step; empty if it has several. */
function textOf({ steps }: Campaign, stepId: string): string {
  const step = allSteps(steps).find(({ id }) => id === stepId);
  const [first, ...others] = step && isMessage(step) ? textsOf(step) : [];
  return first && others.length === 0 ? first.text : '';
}

const doneText = (count: number): string =>
  plural(count, {
    one: 'The correction is on its way to # lead',
    other: 'The correction is on its way to # leads',
  });

const cannotText = (reason: Reason, count: number): string =>
  ({
    stopped: plural(count, {
      one: '# is left out: the campaign has stopped for it.',
      other: '# are left out: the campaign has stopped for them.',
    }),
    paused: plural(count, {
      one: '# is left out: the campaign is paused for it.',
      other: '# are left out: the campaign is paused for them.',
    }),
    opted_out: plural(count, {
      one: '# is left out: it opted out.',
      other: '# are left out: they opted out.',
    }),
    suppressed: plural(count, {
      one: '# is left out: the agency suppresses it.',
      other: '# are left out: the agency suppresses them.',
    }),
  })[reason];
