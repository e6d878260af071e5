import { Trans, useLingui } from '@lingui/react/macro';
import { Ban, Download, Eraser, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { addressOf } from '#console/api/client.ts';
import { useWrite } from '#console/api/queries.ts';
import { Button } from '#console/components/button.tsx';
import { ConfirmButton } from '#console/components/confirm.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { download } from '#console/lib/download.ts';
import { type Lead, leadName } from './lead.ts';

const REFRESH = ['GET /api/leads', 'GET /api/lists'] as const;
const OPT_OUTS = ['GET /api/opt-outs', 'GET /api/leads/{id}/timeline', 'GET /api/conversations'] as const;

/** Exports, opts out, deletes or erases. What cannot be undone asks beforehand. */
export function LeadActions({ lead, onGone }: { lead: Lead; onGone: () => void }) {
  const { t } = useLingui();
  const [exporting, setExporting] = useState(false);
  const remove = useWrite('DELETE /api/leads/{id}', { refresh: REFRESH });
  const save = async (): Promise<void> => {
    setExporting(true);
    try {
      await download(addressOf('/api/leads/{id}/export', { id: lead._id }), 'contact.json');
    } catch (error) {
      toastError(error);
    }
    setExporting(false);
  };
  const name = leadName(lead);
  const change = useWrite('POST /api/leads/bulk', { refresh: OPT_OUTS });
  const optOut = (): void =>
    change.mutate(
      { body: { leadIds: [lead._id], change: { optOut: true } } },
      { onSuccess: () => toast(t`${name} is opted out`), onError: toastError },
    );
  const run = (erase: boolean): void =>
    remove.mutate(
      { params: { id: lead._id }, query: erase ? { erase: 'true' } : {} },
      {
        onSuccess: () => toast(erase ? t`Erasing ${name}` : t`Deleted ${name}`),
        whileShown: onGone,
        onError: toastError,
      },
    );
  return (
    <div className="mb-3 flex flex-wrap items-center gap-2">
      <Button
        small
        busy={exporting}
        icon={<Download className="size-4" aria-hidden="true" />}
        onClick={() => void save()}
      >
        <Trans>Export</Trans>
      </Button>
      <span className="flex-1" />
      <ConfirmButton
        label={t`Opt out`}
        kind="secondary"
        icon={<Ban className="size-4" aria-hidden="true" />}
        title={t`Opt ${name} out?`}
        confirm={t`Opt out`}
        busy={change.isPending}
        onConfirm={optOut}
      >
        <p>
          <Trans>Nothing is sent to any of its addresses any more, and what waits for it fails.</Trans>
        </p>
      </ConfirmButton>
      <ConfirmButton
        label={t`Delete`}
        kind="secondary"
        icon={<Trash2 className="size-4" aria-hidden="true" />}
        title={t`Delete this lead?`}
        confirm={t`Delete the lead`}
        busy={remove.isPending}
        onConfirm={() => run(false)}
      >
        <p>
          <Trans>
            Its unsent messages are canceled. Its conversations stay. A deleted lead cannot be restored.
          </Trans>
        </p>
      </ConfirmButton>
      <ConfirmButton
        label={t`Erase`}
        icon={<Eraser className="size-4" aria-hidden="true" />}
        title={t`Erase this contact?`}
        confirm={t`Erase the contact`}
        busy={remove.isPending}
        onConfirm={() => run(true)}
      >
        <p>
          <Trans>
            Everything stored about the contact is erased: this lead, every lead that shares an address with
            it, and what was sent to and received from these addresses. An opt-out remains in force. This
            cannot be undone.
          </Trans>
        </p>
      </ConfirmButton>
    </div>
  );
}
