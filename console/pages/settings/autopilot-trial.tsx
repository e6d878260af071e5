import type { MessageDescriptor } from '@lingui/core';
import { msg } from '@lingui/core/macro';
import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { useRead, useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { Button } from '#console/components/button.tsx';
import { Card } from '#console/components/page.tsx';
import { ShortTime } from '#console/components/short-time.tsx';
import { toastError } from '#console/components/toast.tsx';
import { addressName, listOf, percentOf } from '#console/lib/format.ts';
import { workspaceNow } from '#console/lib/workspace-time.ts';
import { HAND_OVER, type Limits } from './autopilot.tsx';

type DryRun = NonNullable<ResponseOf<'GET /api/knowledge-base/dry-run'>['dryRun']>;
type Case = DryRun['cases'][number];
type HeldBackBy = NonNullable<Case['heldBackBy']>;

const HELD_BACK: Record<HeldBackBy, MessageDescriptor> = {
  ...HAND_OVER,
  taken_over: msg`A person has taken over`,
  instructs_model: msg`Seems to write to the model`,
  confidence: msg`Not sure enough`,
  tags: msg`Other tags`,
  hours: msg`Out of hours`,
  conversation_limit: msg`Limit of the conversation`,
  day_limit: msg`Limit of the day`,
  cannot_send: msg`The workspace cannot send`,
};

const READ_AGAIN_MS = 1000;
const RECENT_MS = 7 * 86_400_000;

/** The last dry run of the autopilot, which is read again while it runs. */
export function useDryRun(): { dryRun: DryRun | null; isRecent: boolean } {
  const { data } = useRead(
    'GET /api/knowledge-base/dry-run',
    {},
    { refetchInterval: (read) => (read?.dryRun?.status === 'running' ? READ_AGAIN_MS : false) },
  );
  const dryRun = data?.dryRun ?? null;
  const isRecent =
    dryRun?.status === 'done' && Date.parse(dryRun.requestedAt) > workspaceNow().getTime() - RECENT_MS;
  return { dryRun, isRecent };
}

/** What the autopilot would have written where a person answered. */
export function AutopilotTrial({ autopilot, dryRun }: { autopilot: Limits; dryRun: DryRun | null }) {
  const start = useWrite('POST /api/knowledge-base/dry-run', {
    refresh: ['GET /api/knowledge-base/dry-run'],
  });
  const isRunning = start.isPending || dryRun?.status === 'running';
  const { t } = useLingui();
  return (
    <Card title={t`Try it first`}>
      <div className="flex flex-col gap-3 p-4">
        <p className="text-muted">
          <Trans>
            The copilot answers what people of your team have answered lately, with the saved instructions and
            documents. Nothing is sent.
          </Trans>
        </p>
        <div>
          <Button
            small
            busy={isRunning}
            onClick={() => start.mutate({ body: { autopilot } }, { onError: toastError })}
          >
            <Trans>Try it on past conversations</Trans>
          </Button>
        </div>
        <div aria-live="polite">{dryRun?.status === 'done' && <Outcome dryRun={dryRun} />}</div>
      </div>
    </Card>
  );
}

function Outcome({ dryRun: { cases, wouldSend, heldBack, failed, requestedAt } }: { dryRun: DryRun }) {
  const { t, i18n } = useLingui();
  const reasons = (Object.entries(heldBack) as [HeldBackBy, number][]).map(
    ([reason, count]) => `${i18n._(HELD_BACK[reason])} (${count})`,
  );
  if (cases.length === 0)
    return (
      <p>
        <Trans>Nobody of your team has answered a contact in the last 30 days.</Trans>
      </p>
    );
  return (
    <div className="flex flex-col gap-2 rounded-lg bg-hover p-3">
      <p>
        <Plural value={cases.length} one="# conversation," other="# conversations," />{' '}
        <ShortTime at={requestedAt} />:{' '}
        <Plural
          value={wouldSend}
          _0="it would have answered none."
          one="it would have answered one."
          other="it would have answered #."
        />
        {failed > 0 && (
          <>
            {' '}
            <Plural value={failed} one="The model failed once." other="The model failed # times." />
          </>
        )}
      </p>
      {reasons.length > 0 && (
        <p>
          <Trans>Left to a person:</Trans> {listOf(reasons)}
        </p>
      )}
      <ul aria-label={t`Conversations that were tried`} className="divide-y divide-line">
        {cases.map((one) => (
          <PastCase key={one.replyId} past={one} />
        ))}
      </ul>
    </div>
  );
}

function PastCase({ past }: { past: Case }) {
  const { i18n } = useLingui();
  const { at, conversationRecipient, inboundText, sentText, draftMessage, heldBackBy, sharedWords, error } =
    past;
  const same = percentOf(sharedWords);
  return (
    <li className="flex flex-col gap-1 py-2 text-[0.8125rem]">
      <p className="flex flex-wrap gap-x-3">
        <ShortTime at={at} />
        <span className="font-medium">{addressName(conversationRecipient)}</span>
        <span className="text-muted">
          {error !== null ? (
            error
          ) : heldBackBy === null ? (
            <Trans>Would have been sent; {same} of the words are the same</Trans>
          ) : (
            <Trans>Left to a person: {i18n._(HELD_BACK[heldBackBy])}</Trans>
          )}
        </span>
      </p>
      <dl className="grid gap-x-3 gap-y-1 sm:grid-cols-[auto_1fr]">
        <dt className="text-muted">
          <Trans>Contact</Trans>
        </dt>
        <dd className="break-words">{inboundText}</dd>
        <dt className="text-muted">
          <Trans>Your team</Trans>
        </dt>
        <dd className="break-words">{sentText}</dd>
        {draftMessage !== null && (
          <>
            <dt className="text-muted">
              <Trans>Autopilot</Trans>
            </dt>
            <dd className="break-words">{draftMessage}</dd>
          </>
        )}
      </dl>
    </li>
  );
}
