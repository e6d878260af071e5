import type { MessageDescriptor } from '@lingui/core';
import { msg, t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { type FormEvent, useState } from 'react';
import { useWrite } from '#console/api/queries.ts';
import type { RequestTo } from '#console/api/routes.ts';
import { Button } from '#console/components/button.tsx';
import { FormError, generalErrorOf, issueOf, TextField } from '#console/components/field.tsx';
import { KeptForm } from '#console/components/kept-form.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { isDoubted, type Line } from '#console/lib/line.ts';
import { statusName } from '#console/lib/status-names.ts';
import { useEdits } from '#console/lib/unsent.ts';

type Patch = NonNullable<RequestTo<'PATCH /api/lines/{id}'>['body']>;

const TEXTS = ['firstName', 'lastName'] as const;
const NUMBERS = [
  'dailyTotalMessagesLimit',
  'dailyNewConversationsLimit',
  'hourlyNewConversationsLimit',
  'minGapSeconds',
  'contactGapSeconds',
] as const;
const FIELDS = [...TEXTS, ...NUMBERS];
type Name = (typeof FIELDS)[number];

const LABELS: Record<Name, { label: MessageDescriptor; hint?: MessageDescriptor }> = {
  firstName: { label: msg`First name` },
  lastName: { label: msg`Last name` },
  dailyTotalMessagesLimit: { label: msg`Messages a day` },
  dailyNewConversationsLimit: {
    label: msg`New conversations a day`,
    hint: msg`Setting it ends the warm-up.`,
  },
  hourlyNewConversationsLimit: {
    label: msg`New conversations an hour`,
    hint: msg`Empty: between 3 and 7 for each hour, at random.`,
  },
  minGapSeconds: { label: msg`Seconds between two messages` },
  contactGapSeconds: { label: msg`Seconds between two messages to one contact` },
};

type Values = Record<Name, string>;

const valuesOf = (line: Line): Values =>
  Object.fromEntries(FIELDS.map((name) => [name, String(line[name] ?? '')])) as Values;

/** What has changed, as the API takes it. */
function patchOf(before: Values, values: Values): Patch {
  const changed = FIELDS.filter((name) => values[name] !== before[name]);
  return Object.fromEntries(
    changed.map((name) => {
      const text = values[name].trim();
      const isNumber = (NUMBERS as readonly string[]).includes(name);
      return [name, !isNumber ? text : text === '' ? null : Number(text)];
    }),
  );
}

/** How many new conversations the line may open today, if something takes from its limit. */
function reducedText(line: Line): string | null {
  const { newMessagesLimit: now } = line.usage;
  if (now >= line.dailyNewConversationsLimit) return null;
  if (!isDoubted(line)) return t`Today ${now}: it warms up.`;
  const state = statusName(line.reputation.state).toLowerCase();
  return t`Today ${now}: its reputation is “${state}”.`;
}

export function LimitsForm({ line }: { line: Line }) {
  const { t } = useLingui();
  const hintOf = (name: Name): string | undefined => {
    const { hint } = LABELS[name];
    const reduced = name === 'dailyNewConversationsLimit' ? reducedText(line) : null;
    return [reduced, hint && t(hint)].filter(Boolean).join(' ') || undefined;
  };
  // As it was when the form was opened: what somebody else has changed since is not changed back.
  const [initial, setInitial] = useState(() => valuesOf(line));
  const edits = useEdits(`limits ${line._id}`, initial);
  const { values, change, discard } = edits;
  const update = useWrite('PATCH /api/lines/{id}', {
    refresh: ['GET /api/lines/by-user', 'GET /api/lines/{id}/pace'],
  });
  const patch = patchOf(initial, values);
  const restore = (before: Patch): void =>
    update.mutate(
      { params: { id: line._id }, body: before },
      {
        onSuccess: ({ line: restored }) => {
          setInitial(valuesOf(restored));
          discard();
        },
        onError: toastError,
      },
    );
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const before = Object.fromEntries(Object.keys(patch).map((name) => [name, line[name as Name]])) as Patch;
    update.mutate(
      { params: { id: line._id }, body: patch },
      {
        onSuccess: () => {
          setInitial(values);
          discard();
          toast(t`The line was changed`, { undo: () => restore(before) });
        },
      },
    );
  };
  return (
    <KeptForm edits={edits} className="flex flex-col gap-4" onSubmit={submit}>
      <div className="grid gap-4 sm:grid-cols-2">
        {FIELDS.map((name) => (
          <TextField
            key={name}
            label={t(LABELS[name].label)}
            hint={hintOf(name)}
            inputMode={(NUMBERS as readonly string[]).includes(name) ? 'numeric' : 'text'}
            value={values[name]}
            onChange={(event) => change({ [name]: event.target.value })}
            error={issueOf(update.error, name)}
          />
        ))}
      </div>
      <FormError>{generalErrorOf(update.error, FIELDS)}</FormError>
      <div>
        <Button
          kind="primary"
          type="submit"
          busy={update.isPending}
          disabled={Object.keys(patch).length === 0}
        >
          <Trans>Save</Trans>
        </Button>
      </div>
    </KeptForm>
  );
}
