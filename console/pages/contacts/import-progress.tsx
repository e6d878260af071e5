import { msg } from '@lingui/core/macro';
import { Plural, Trans, useLingui } from '@lingui/react/macro';
import { CircleAlert, CircleCheck, Download, X } from 'lucide-react';
import { useEffect } from 'react';
import { addressOf } from '#console/api/client.ts';
import { refreshReads, useRead } from '#console/api/queries.ts';
import { Button, IconButton } from '#console/components/button.tsx';
import { Spinner } from '#console/components/spinner.tsx';
import { toastError } from '#console/components/toast.tsx';
import { download } from '#console/lib/download.ts';
import { numberOf } from '#console/lib/format.ts';
import { LEADS } from './lead.ts';

const POLL_MS = 1000;

/** The progress of an import; after it, the numbers of saved, duplicate and rejected rows. */
export function ImportProgress({
  listId,
  importId,
  close,
}: {
  listId: string;
  importId: string;
  close: () => void;
}) {
  const { t } = useLingui();
  const { data, error, refetch } = useRead('GET /api/lists/{id}/imports/{importId}', {
    params: { id: listId, importId },
  });
  const isOver = (data && data.status !== 'running') || error !== null;
  useEffect(() => {
    if (!isOver) {
      const timer = setInterval(() => void refetch(), POLL_MS);
      return () => clearInterval(timer);
    }
    void refreshReads([...LEADS, 'GET /api/workspace/limits']);
    return undefined;
  }, [isOver, refetch]);
  return (
    <div
      role="status"
      className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line bg-canvas px-4 py-2.5"
    >
      {error || data?.status === 'failed' ? (
        <CircleAlert className="size-4 text-bad" aria-hidden="true" />
      ) : data?.status === 'completed' ? (
        <CircleCheck className="size-4 text-good" aria-hidden="true" />
      ) : (
        <Spinner />
      )}
      <p className="min-w-0 flex-1">
        {error ? error.message : data ? <Progress {...data} /> : t`The import is starting`}
      </p>
      {data && data.rejected > 0 && (
        <Button
          small
          icon={<Download className="size-4" aria-hidden="true" />}
          onClick={() => {
            const address = addressOf('/api/lists/{id}/imports/{importId}/rejected', {
              id: listId,
              importId,
            });
            download(address, 'rejected.csv').catch(toastError);
          }}
        >
          <Trans>Rejected rows</Trans>
        </Button>
      )}
      <IconButton label={t`Hide the import`} onClick={close}>
        <X className="size-4" aria-hidden="true" />
      </IconButton>
    </div>
  );
}

const TITLES = {
  running: msg`Importing`,
  completed: msg`Import completed`,
  failed: msg`Import failed`,
};

function Progress({
  status,
  saved,
  duplicates,
  rejected,
  unlikelyNumbers,
  error,
}: {
  status: keyof typeof TITLES;
  saved: number;
  duplicates: number;
  rejected: number;
  unlikelyNumbers: number;
  error: string | null;
}) {
  const { t } = useLingui();
  const [savedText, duplicatesText, rejectedText] = [saved, duplicates, rejected].map(numberOf);
  return (
    <>
      <span className="font-medium">{t(TITLES[status])}</span>
      <span className="text-muted">
        {' '}
        · {t`${savedText} saved · ${duplicatesText} duplicates · ${rejectedText} rejected`}
      </span>
      {unlikelyNumbers > 0 && (
        <span className="text-warn">
          {' · '}
          <Plural
            value={unlikelyNumbers}
            one="# lead has a number that its country does not have"
            other="# leads have numbers that their countries do not have"
          />
        </span>
      )}
      {error && <span className="text-bad"> · {error}</span>}
    </>
  );
}
