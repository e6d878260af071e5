import type { MessageDescriptor } from '@lingui/core';
import { msg, t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import type { ResponseOf } from '#console/api/routes.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { Badge } from '#console/components/badge.tsx';
import { Check } from '#console/components/check.tsx';
import { SelectField } from '#console/components/field.tsx';
import { fullTimeOf } from '#console/lib/format.ts';
import { CHANNELS } from '#console/lib/line.ts';
import { locale } from '#console/lib/locale.ts';
import { allSteps } from '#console/lib/step-places.ts';
import { type Campaign, isMessage } from './campaign.ts';
import { type Choices, type Deed, OTHER_REPLY } from './preview-choices.ts';

type Event = ResponseOf<'POST /api/campaigns/{id}/preview'>['walk'][number];

const DEEDS: Record<Deed, MessageDescriptor> = {
  read: msg`Reads the messages`,
  clicked: msg`Opens a link`,
  missed: msg`Does not get the messages`,
};

/** What the contact does after the first message, as far as something depends on it. */
export function WhatIf({
  choices: { replies, deeds },
  reply,
  done,
  onReply,
  onDone,
}: {
  choices: Choices;
  /** Empty: none. */
  reply: string;
  done: readonly Deed[];
  onReply: (reply: string) => void;
  onDone: (done: Deed[]) => void;
}) {
  const { t } = useLingui();
  if (replies === null && deeds.length === 0) return null;
  const other =
    replies?.length === 0 ? t({ message: 'Replies', context: 'the contact' }) : t`Replies something else`;
  return (
    <fieldset className="flex flex-wrap items-end gap-x-6 gap-y-3 rounded-lg bg-hover p-3">
      <legend className="sr-only">
        <Trans>What the contact does</Trans>
      </legend>
      {replies !== null && (
        <SelectField
          label={t`After the first message, the contact`}
          value={reply}
          options={[
            { value: '', label: t`Does not reply` },
            ...replies.map((words) => ({ value: words, label: t`Replies “${words}”` })),
            { value: OTHER_REPLY, label: other },
          ]}
          onChange={({ target }) => onReply(target.value)}
        />
      )}
      <div className="flex min-h-9 flex-wrap items-center gap-x-4 gap-y-2">
        {deeds.map((deed) => (
          <Check
            key={deed}
            label={t(DEEDS[deed])}
            checked={done.includes(deed)}
            onChange={(checked) => onDone(checked ? [...done, deed] : done.filter((one) => one !== deed))}
          />
        ))}
      </div>
    </fieldset>
  );
}

/** What would follow the messages that are certain. */
export function Rest({ campaign, events }: { campaign: Campaign; events: readonly Event[] }) {
  const { t } = useLingui();
  const channels = new Map(
    allSteps(campaign.steps).map((step) => [step.id, isMessage(step) ? step.messageType : null]),
  );
  const zone = useTimeZone();
  return (
    <ol aria-live="polite" aria-label={t`What follows then`} className="flex flex-col gap-3">
      {events.map(({ stepId, kind, at, outcome, why, message }, index) => {
        const channel = channels.get(stepId);
        const time = fullTimeOf(at, zone);
        return kind === 'message' ? (
          // A step comes at most once, and a condition to stop may hold at any.
          <li key={`${stepId} ${index}`} className="rounded-lg border border-dashed border-line p-3">
            <div className="flex flex-wrap items-center gap-2">
              {channel && <Badge>{CHANNELS[channel]}</Badge>}
              <time dateTime={at} className="text-muted">
                <Trans>{time} at the earliest</Trans>
              </time>
            </div>
            <p className="mt-2 wrap-anywhere whitespace-pre-wrap">
              {message ?? <span className="text-warn">{t`The text cannot be written for this lead.`}</span>}
            </p>
          </li>
        ) : (
          <li key={`${stepId} ${index}`} className="px-3 text-muted">
            {decisionText(kind, outcome ?? '')}
            {/* The API says it in English. */}
            {locale === 'en' && why && (kind === 'branch' || kind === 'stop') && `: ${why}`}
          </li>
        );
      })}
      {!events.some(({ kind }) => kind === 'message') && (
        <li className="px-3 text-muted">
          <Trans>No further message is sent.</Trans>
        </li>
      )}
    </ol>
  );
}

function decisionText(kind: Exclude<Event['kind'], 'message'>, outcome: string): string {
  switch (kind) {
    case 'wait':
      return t`The wait is over`;
    case 'wait_until':
      if (outcome === 'continued') return t`What it waited for has happened`;
      return outcome === 'ended'
        ? t`It has waited long enough, and ends`
        : t`It has waited long enough, and goes on`;
    case 'branch':
      return outcome === 'else' ? t`It takes no branch` : t`It takes the branch “${outcome}”`;
    case 'do':
      return t`It changes the contact`;
    case 'end':
      return t`It comes to its end`;
    case 'reply':
      return outcome === 'paused'
        ? t`The reply pauses the campaign for this lead, until a member lets it go on`
        : t`The reply stops the campaign for this lead`;
    case 'stop':
      return t`A condition to stop holds`;
  }
}
