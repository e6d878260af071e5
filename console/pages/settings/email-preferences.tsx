import type { MessageDescriptor } from '@lingui/core';
import { msg } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { useRead, useWrite } from '#console/api/queries.ts';
import type { RequestTo, ResponseOf } from '#console/api/routes.ts';
import { useBilling } from '#console/api/workspace.ts';
import { SelectField } from '#console/components/field.tsx';
import { Card } from '#console/components/page.tsx';
import { ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { toast, toastError } from '#console/components/toast.tsx';

type Preferences = ResponseOf<'GET /api/email-preferences'>['preferences'];
type Patch = NonNullable<RequestTo<'POST /api/email-preferences'>['body']>['preferences'];
type Mode = Preferences['reply']['mode'];

/** Alerts about a line are set at the line. */
type Topic = Exclude<keyof Preferences, 'line_health'>;

export const TOPICS: Record<Topic, { label: MessageDescriptor; text: MessageDescriptor }> = {
  reply: { label: msg`Replies`, text: msg`When contacts write` },
  campaign: { label: msg`Campaigns`, text: msg`Daily progress, and when one completes` },
  billing: { label: msg`Billing`, text: msg`Failed and paid invoices, changes of the plan` },
  system_error: { label: msg`Errors`, text: msg`Lines that could not be set up, webhooks that keep failing` },
};

export const EMAIL_TOPICS = Object.keys(TOPICS) as Topic[];

const MODES: Record<Mode, MessageDescriptor> = {
  all: msg`Every reply, at once`,
  positive_only: msg`Positive replies only`,
  debounce_5min: msg`Together, after five quiet minutes`,
  daily_digest: msg`Once a day`,
};

/** Which emails the workspace gets. Each change is saved at once. */
export default function EmailPreferences() {
  const { t } = useLingui();
  const billing = useBilling();
  const { data, error, refetch } = useRead('GET /api/email-preferences', {});
  const save = useWrite('POST /api/email-preferences', { refresh: ['GET /api/email-preferences'] });
  // Shown at once, until it is saved and read again.
  const [chosen, setChosen] = useState<{ patch: Patch; over: typeof data } | null>(null);
  if (error && !data) return <ErrorState error={error} retry={() => void refetch()} />;
  if (!data) return <SkeletonRows rows={4} />;
  const isShown = save.isPending || chosen?.over === data;
  const preferences = merged(data.preferences, isShown && chosen ? chosen.patch : {});
  const apply = (patch: Patch, onSuccess?: () => void): void => {
    setChosen({ patch, over: data });
    save.mutate(
      { body: { preferences: patch } },
      {
        ...(onSuccess && { onSuccess }),
        onError: (failure) => {
          setChosen(null);
          toastError(failure);
        },
      },
    );
  };
  const change = (patch: Patch, before: Patch): void =>
    apply(patch, () => toast(t`The email preferences were saved`, { undo: () => apply(before) }));
  return (
    <Card title={t`Emails about`}>
      <ul className="divide-y divide-line">
        {EMAIL_TOPICS.filter((topic) => billing.workspace || topic !== 'billing').map((topic) => {
          const { enabled } = preferences[topic];
          return (
            <li key={topic} className="flex flex-wrap items-center gap-x-4 gap-y-3 px-4 py-3">
              <div className="flex min-w-56 flex-1 items-center gap-3">
                <input
                  id={topic}
                  aria-describedby={`${topic}-about`}
                  type="checkbox"
                  className="size-4 shrink-0 accent-accent"
                  checked={enabled}
                  onChange={() => change({ [topic]: { enabled: !enabled } }, { [topic]: { enabled } })}
                />
                <div>
                  <label htmlFor={topic} className="font-medium">
                    {t(TOPICS[topic].label)}
                  </label>
                  <p id={`${topic}-about`} className="text-muted">
                    {t(TOPICS[topic].text)}
                  </p>
                </div>
              </div>
              {topic === 'reply' && enabled && (
                <div className="w-full sm:w-72">
                  <SelectField
                    label={
                      <span className="sr-only">
                        <Trans>When to send emails about replies</Trans>
                      </span>
                    }
                    value={preferences.reply.mode}
                    options={Object.entries(MODES).map(([value, label]) => ({ value, label: t(label) }))}
                    onChange={(event) =>
                      change(
                        { reply: { mode: event.target.value as Mode } },
                        { reply: { mode: preferences.reply.mode } },
                      )
                    }
                  />
                </div>
              )}
            </li>
          );
        })}
      </ul>
    </Card>
  );
}

/** The preferences after the change is saved. */
const merged = (current: Preferences, patch: Patch): Preferences => ({
  ...current,
  ...Object.fromEntries(
    Object.entries(patch).map(([topic, change]) => [topic, { ...current[topic as Topic], ...change }]),
  ),
});
