import { Trans, useLingui } from '@lingui/react/macro';
import { Check, Copy, Plus, QrCode } from 'lucide-react';
import { useState } from 'react';
import { useReadPages, useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { Button } from '#console/components/button.tsx';
import { ConfirmButton } from '#console/components/confirm.tsx';
import { Dialog } from '#console/components/dialog.tsx';
import { Card } from '#console/components/page.tsx';
import { ShowMore } from '#console/components/show-more.tsx';
import { EmptyState, ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { numberOf } from '#console/lib/format.ts';
import { OptInLinkForm } from './opt-in-link-form.tsx';

type OptInLink = ResponseOf<'GET /api/opt-in-links'>['optInLinks'][number];

/** The links and QR codes with which contacts write first, and how many did. */
export default function OptInLinks() {
  const { t } = useLingui();
  const links = useReadPages('GET /api/opt-in-links', {});
  const [creating, setCreating] = useState(false);
  const known = links.data?.pages.flatMap((page) => page.optInLinks);
  return (
    <Card
      title={t`Opt-in links`}
      actions={
        <Button
          small
          kind="primary"
          icon={<Plus className="size-4" aria-hidden="true" />}
          onClick={() => setCreating(true)}
        >
          <Trans>Create a link</Trans>
        </Button>
      }
    >
      {!known ? (
        links.error ? (
          <ErrorState error={links.error} retry={() => void links.refetch()} />
        ) : (
          <SkeletonRows rows={3} />
        )
      ) : known.length === 0 ? (
        <EmptyState icon={<QrCode className="size-5" aria-hidden="true" />} title={t`No links yet`}>
          <Trans>
            A contact who follows a link or scans its code writes the first message, which records their
            consent.
          </Trans>
        </EmptyState>
      ) : (
        <ul aria-label={t`Opt-in links`} className="divide-y divide-line">
          {known.map((link) => (
            <Row key={link._id} link={link} />
          ))}
        </ul>
      )}
      <ShowMore read={links} />
      {creating && <OptInLinkForm close={() => setCreating(false)} />}
    </Card>
  );
}

function Row({ link }: { link: OptInLink }) {
  const { t } = useLingui();
  const { _id, name, text, code, tags, url, funnel } = link;
  const remove = useWrite('DELETE /api/opt-in-links/{id}', { refresh: ['GET /api/opt-in-links'] });
  const [shown, show] = useState(false);
  const steps = [
    [t`Visits`, funnel.visits],
    [t`Messages`, funnel.messages],
    [t`Leads`, funnel.leads],
  ] as const;
  return (
    <li className="flex flex-wrap items-center gap-3 px-4 py-3">
      <div className="min-w-0 flex-1 basis-60">
        <p className="font-medium wrap-anywhere">{name}</p>
        <p className="text-xs wrap-anywhere text-muted">{[`“${text} ${code}”`, ...tags].join(' · ')}</p>
      </div>
      <dl className="flex gap-4">
        {steps.map(([label, count]) => (
          <div key={label} className="text-right">
            <dt className="text-xs text-muted">{label}</dt>
            <dd className="font-medium tabular-nums">{numberOf(count)}</dd>
          </div>
        ))}
      </dl>
      <CopyLink name={name} url={url} />
      <Button
        small
        aria-label={t`QR code of ${name}`}
        icon={<QrCode className="size-3.5" aria-hidden="true" />}
        onClick={() => show(true)}
      >
        <Trans>QR code</Trans>
      </Button>
      <ConfirmButton
        label={t`Delete`}
        title={t`Delete ${name}?`}
        confirm={t`Delete the link`}
        busy={remove.isPending}
        onConfirm={() =>
          remove.mutate(
            { params: { id: _id } },
            { onSuccess: () => toast(t`The link was deleted`), onError: toastError },
          )
        }
      >
        <Trans>Its page and its code stop working. Consents that contacts gave with it stay.</Trans>
      </ConfirmButton>
      <Dialog open={shown} onClose={() => show(false)} title={t`QR code of ${name}`} description={url}>
        {shown && <Code link={link} />}
      </Dialog>
    </li>
  );
}

/** The path: the page comes from the server that the code is of. */
function Code({ link: { qr, consent } }: { link: OptInLink }) {
  const { t } = useLingui();
  const source = URL.parse(qr)?.pathname ?? qr;
  return (
    <div className="flex flex-col items-center gap-3">
      <img src={source} alt={t`QR code`} className="w-full max-w-72 rounded-lg bg-white p-3" />
      <p className="w-full whitespace-pre-wrap text-muted">{consent}</p>
      <a href={source} download="qr.svg" className="font-medium text-accent-ink underline">
        <Trans>Save as a picture</Trans>
      </a>
    </div>
  );
}

function CopyLink({ name, url }: { name: string; url: string }) {
  const { t } = useLingui();
  const [copied, setCopied] = useState(false);
  const Icon = copied ? Check : Copy;
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(url);
      setCopied(true);
    } catch {
      // The browser refuses access to the clipboard: the address is shown instead.
      toast(url);
    }
  };
  return (
    <Button
      small
      aria-label={copied ? t`Copied the link of ${name}` : t`Copy the link of ${name}`}
      icon={<Icon className="size-3.5" aria-hidden="true" />}
      onClick={() => void copy()}
    >
      {copied ? <Trans>Copied</Trans> : <Trans>Copy</Trans>}
    </Button>
  );
}
