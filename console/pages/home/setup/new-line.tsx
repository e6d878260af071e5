import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { useRead, useWrite } from '#console/api/queries.ts';
import { Button, buttonClasses } from '#console/components/button.tsx';
import { FormError, generalErrorOf, issueOf, SelectField, TextField } from '#console/components/field.tsx';
import { Status } from '#console/components/badge.tsx';
import { enteredIn } from '#console/lib/form.ts';
import { CHANNELS, type Line, lineAddress, lineState } from '#console/lib/line.ts';
import { LinePrice } from '#console/pages/lines/line-price.tsx';

const SET_UP_MS = 1000;

/** Requests a line from a carrier that sets lines up by itself, and waits until it is. */
export function NewLine({ channels }: { channels: readonly Line['requestedChannelType'][] }) {
  const { t } = useLingui();
  const [channel, setChannel] = useState(channels[0] ?? 'imessage');
  const wish = useWrite('POST /api/line-requests', {
    refresh: ['GET /api/lines/by-user', 'GET /api/workspace/setup'],
  });
  const requested = wish.data;
  const lines = useRead(
    'GET /api/lines/by-user',
    {},
    { enabled: requested !== undefined, refetchInterval: requested !== undefined && SET_UP_MS },
  );
  const line = lines.data?.lines.find(({ _id }) => _id === requested?.line._id);
  const error = (name: string): string | undefined => issueOf(wish.error, name);
  if (requested)
    return (
      <div role="status" className="flex flex-wrap items-center gap-3">
        <Status status={line ? lineState(line) : requested.status} />
        {line && <span>{lineAddress(line) ?? t`It gets its number in a moment.`}</span>}
        {requested.paymentUrl !== undefined && line?.provisioningStatus === 'awaiting_payment' && (
          <a href={requested.paymentUrl} className={buttonClasses('primary')}>
            <Trans>Pay for the line</Trans>
          </a>
        )}
      </div>
    );
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        wish.mutate({ body: enteredIn(event.currentTarget) as never });
      }}
    >
      <div className="grid gap-4 sm:grid-cols-3">
        <SelectField
          label={t`Channel`}
          name="channelType"
          value={channel}
          options={channels.map((value) => ({ value, label: CHANNELS[value] }))}
          onChange={(event) => setChannel(event.target.value as typeof channel)}
          error={error('channelType')}
        />
        <TextField label={t`First name`} name="firstName" required error={error('firstName')} />
        <TextField label={t`Last name`} name="lastName" required error={error('lastName')} />
      </div>
      <LinePrice channel={channel} />
      <FormError>{generalErrorOf(wish.error, ['channelType', 'firstName', 'lastName'])}</FormError>
      <div>
        <Button kind="primary" type="submit" busy={wish.isPending}>
          <Trans>Set up the line</Trans>
        </Button>
      </div>
    </form>
  );
}
