import type { MessageDescriptor } from '@lingui/core';
import { msg } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { ExternalLink } from 'lucide-react';
import { useWrite } from '#console/api/queries.ts';
import { Button } from '#console/components/button.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import type { Line } from '#console/lib/line.ts';

const TEXTS: Partial<Record<Line['provisioningStatus'], MessageDescriptor>> = {
  awaiting_payment: msg`This line is set up once it is paid for.`,
  provisioning: msg`This line is being set up. A line of your own is waiting for its carrier: connect it under Carrier.`,
  failed: msg`This line could not be set up.`,
  canceled: msg`This request was canceled.`,
};

/** In a new tab, because secrets that somebody has entered or is shown here end with the page; in this one if the browser refuses. */
function openBeside(url: string): void {
  const opened = window.open(url);
  if (opened) opened.opener = null;
  else location.assign(url);
}

/** What can be done about a line that is not set up yet. */
export function RequestActions({ line }: { line: Line }) {
  const { t } = useLingui();
  const act = useWrite('POST /api/line-requests/{id}', { refresh: ['GET /api/lines/by-user'] });
  const { provisioningStatus: status } = line;
  const text = TEXTS[status];
  const run = (action: 'payment_link' | 'cancel' | 'retry'): void =>
    act.mutate(
      { params: { id: line._id }, body: { action } },
      {
        whileShown: ({ paymentUrl }) => {
          if (action === 'payment_link' && paymentUrl !== undefined) openBeside(paymentUrl);
        },
        onSuccess: () => {
          if (action === 'cancel') toast(t`The request was canceled`);
          if (action === 'retry') toast(t`The line is being set up again`);
        },
        onError: toastError,
      },
    );
  return (
    <div className="rounded-lg border border-line p-3">
      {text && <p>{t(text)}</p>}
      <div className="mt-3 flex gap-2">
        {status === 'awaiting_payment' && (
          <Button
            small
            kind="primary"
            busy={act.isPending}
            icon={<ExternalLink className="size-4" aria-hidden="true" />}
            onClick={() => run('payment_link')}
          >
            <Trans>Pay</Trans>
          </Button>
        )}
        {status === 'failed' && (
          <Button small kind="primary" busy={act.isPending} onClick={() => run('retry')}>
            <Trans>Try again</Trans>
          </Button>
        )}
        {(status === 'awaiting_payment' || status === 'failed') && (
          <Button small kind="danger" disabled={act.isPending} onClick={() => run('cancel')}>
            <Trans>Cancel the request</Trans>
          </Button>
        )}
      </div>
    </div>
  );
}
