import { Trans, useLingui } from '@lingui/react/macro';
import { useRead, useWrite } from '#console/api/queries.ts';
import { Button, buttonClasses } from '#console/components/button.tsx';
import { FormError, generalErrorOf, issueOf, SelectField, TextField } from '#console/components/field.tsx';
import { KeptForm } from '#console/components/kept-form.tsx';
import { Status } from '#console/components/badge.tsx';
import { toast } from '#console/components/toast.tsx';
import { CHANNELS, lineAddress, lineState } from '#console/lib/line.ts';
import type { Edits } from '#console/lib/unsent.ts';
import { AFTER_A_REQUEST, type Channel, type LineDraft, NOTHING } from './line-draft.ts';
import { LinePrice } from './line-price.tsx';

const SET_UP_MS = 1000;
const FIELDS = ['channelType', 'firstName', 'lastName', 'email', 'areaCode'];

/** Requests a line from a carrier that sets lines up by itself, and waits until it is unless the line is shown elsewhere. */
export function NewLine({
  channels,
  carrier = '',
  form,
  onDone,
  onShow,
}: {
  channels: readonly Channel[];
  carrier?: string;
  form: Edits<LineDraft>;
  onDone: () => void;
  onShow?: (lineId: string) => void;
}) {
  const { t } = useLingui();
  const draft = form.values;
  const channel = channels.find((one) => one === draft.channel) ?? channels[0] ?? 'imessage';
  const { address } = draft.at[carrier] ?? NOTHING;
  const wish = useWrite('POST /api/line-requests', {
    refresh: AFTER_A_REQUEST,
  });
  const requested = wish.data;
  const lines = useRead(
    'GET /api/lines/by-user',
    {},
    { enabled: requested !== undefined, refetchInterval: requested !== undefined && SET_UP_MS },
  );
  const line = lines.data?.lines.find(({ _id }) => _id === requested?.line._id);
  const error = (name: string): string | undefined => issueOf(wish.error, name);
  const { change } = form;
  if (requested)
    return (
      <div role="status" className="flex flex-wrap items-center gap-3">
        <Status status={line ? lineState(line) : requested.status} />
        {line && <span>{lineAddress(line) ?? t`It gets its number in a moment.`}</span>}
        {requested.paymentUrl !== undefined && line?.provisioningStatus === 'awaiting_payment' && (
          <>
            <span>
              <Trans>The line is reserved. It is set up as soon as the invoice is paid.</Trans>
            </span>
            <a
              href={requested.paymentUrl}
              target="_blank"
              rel="noreferrer"
              className={buttonClasses('primary')}
            >
              <Trans>Pay for the line</Trans>
            </a>
          </>
        )}
      </div>
    );
  const submit = (): void => {
    const { firstName, lastName, areaCode } = draft;
    const email = channel === 'email' && address.trim() !== '' && { email: address.trim() };
    const area = channel !== 'email' && areaCode.trim() !== '' && { areaCode: areaCode.trim() };
    wish.mutate(
      { body: { channelType: channel, firstName, lastName, ...email, ...area } },
      {
        onSuccess: ({ paymentUrl }) => {
          onDone();
          if (onShow && paymentUrl === undefined) toast(t`The line is being set up`);
        },
        whileShown: ({ line: { _id }, paymentUrl }) => {
          if (paymentUrl === undefined) onShow?.(_id);
        },
      },
    );
  };
  return (
    <KeptForm
      edits={form}
      noted
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <SelectField
          label={t`Channel`}
          value={channel}
          options={channels.map((value) => ({ value, label: CHANNELS[value] }))}
          onChange={(event) => change({ channel: event.target.value as Channel })}
          error={error('channelType')}
        />
        {channel === 'email' ? (
          <TextField
            label={t`Email address (optional)`}
            type="email"
            value={address}
            onChange={(event) =>
              change({ at: { ...draft.at, [carrier]: { ...NOTHING, address: event.target.value } } })
            }
            error={error('email')}
          />
        ) : (
          <TextField
            label={t`Area code (optional)`}
            inputMode="numeric"
            value={draft.areaCode}
            onChange={(event) => change({ areaCode: event.target.value })}
            error={error('areaCode')}
          />
        )}
        <TextField
          label={t`First name`}
          required
          value={draft.firstName}
          onChange={(event) => change({ firstName: event.target.value })}
          error={error('firstName')}
        />
        <TextField
          label={t`Last name`}
          required
          value={draft.lastName}
          onChange={(event) => change({ lastName: event.target.value })}
          error={error('lastName')}
        />
      </div>
      <LinePrice channel={channel} />
      <FormError>{generalErrorOf(wish.error, FIELDS)}</FormError>
      <div>
        <Button kind="primary" type="submit" busy={wish.isPending}>
          <Trans>Set up the line</Trans>
        </Button>
      </div>
    </KeptForm>
  );
}
