import { t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { type FormEvent, useState } from 'react';
import { useWrite } from '#console/api/queries.ts';
import { useBilling } from '#console/api/workspace.ts';
import { Button, buttonClasses } from '#console/components/button.tsx';
import { Dialog } from '#console/components/dialog.tsx';
import { FormError, generalErrorOf, issueOf, SelectField, TextField } from '#console/components/field.tsx';
import { toast } from '#console/components/toast.tsx';
import { enteredIn } from '#console/lib/form.ts';
import { CHANNELS } from '#console/lib/line.ts';
import { LinePrice } from './line-price.tsx';

const FORM = 'request-line';
const FIELDS = ['channelType', 'lineType', 'firstName', 'lastName', 'email', 'areaCode', 'country'];

const typeOptions = () => [
  { value: 'purchased', label: t`A new one` },
  { value: 'byo', label: t`One of my own, at my carrier` },
];

/** Requests a line: granted by the plan, or paid for on the page that the answer names. */
export function RequestLine({
  open,
  close,
  onRequested,
}: {
  open: boolean;
  close: () => void;
  onRequested: (lineId: string) => void;
}) {
  const { t } = useLingui();
  const billing = useBilling();
  const [channel, setChannel] = useState<keyof typeof CHANNELS>('imessage');
  const request = useWrite('POST /api/line-requests', { refresh: ['GET /api/lines/by-user'] });
  const paymentUrl = request.data?.paymentUrl;

  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    request.mutate(
      { body: enteredIn(event.currentTarget) as never },
      {
        onSuccess: ({ paymentUrl: payAt }) => {
          if (payAt !== undefined) return;
          toast(t`The line is being set up`);
        },
        whileShown: ({ line, paymentUrl: payAt }) => {
          if (payAt !== undefined) return;
          close();
          onRequested(line._id);
        },
      },
    );
  };
  const error = (name: string): string | undefined => issueOf(request.error, name);

  return (
    <Dialog
      open={open}
      onClose={() => {
        close();
        request.reset();
      }}
      title={t`Request a line`}
      description={
        billing.workspace
          ? t`What your plan includes is set up at once; anything else is set up once it is paid for.`
          : t`A new line is set up at once; connect one of your own afterwards.`
      }
      footer={
        paymentUrl === undefined ? (
          <Button kind="primary" type="submit" form={FORM} busy={request.isPending}>
            <Trans context="verb">Request</Trans>
          </Button>
        ) : (
          <a href={paymentUrl} className={buttonClasses('primary')}>
            <Trans>Pay for the line</Trans>
          </a>
        )
      }
    >
      {paymentUrl === undefined ? (
        <form id={FORM} className="flex flex-col gap-4" onSubmit={submit}>
          <div className="grid gap-4 sm:grid-cols-2">
            <SelectField
              label={t`Channel`}
              name="channelType"
              value={channel}
              options={Object.entries(CHANNELS).map(([value, label]) => ({ value, label }))}
              onChange={(event) => setChannel(event.target.value as keyof typeof CHANNELS)}
              error={error('channelType')}
            />
            <SelectField
              label={t`Number or address`}
              name="lineType"
              options={typeOptions()}
              error={error('lineType')}
            />
            <TextField label={t`First name`} name="firstName" error={error('firstName')} required />
            <TextField label={t`Last name`} name="lastName" error={error('lastName')} required />
            {channel === 'email' ? (
              <TextField
                label={t`Email address (optional)`}
                name="email"
                type="email"
                error={error('email')}
              />
            ) : (
              <TextField
                label={t`Area code (optional)`}
                name="areaCode"
                inputMode="numeric"
                error={error('areaCode')}
              />
            )}
          </div>
          <LinePrice channel={channel} />
          <FormError>{generalErrorOf(request.error, FIELDS)}</FormError>
        </form>
      ) : (
        <p>
          <Trans>The line is reserved. It is set up as soon as the invoice is paid.</Trans>
        </p>
      )}
    </Dialog>
  );
}
