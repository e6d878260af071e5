import { Trans } from '@lingui/react/macro';
import { Download } from 'lucide-react';
import { useState } from 'react';
import { download } from '#console/lib/download.ts';
import { Button } from './button.tsx';
import { toastError } from './toast.tsx';

/** Saves what an address of the API returns as a CSV file. */
export function ExportButton({ address, fileName }: { address: string; fileName: string }) {
  const [busy, setBusy] = useState(false);
  const save = async (): Promise<void> => {
    setBusy(true);
    try {
      await download(address, fileName);
    } catch (error) {
      toastError(error);
    }
    setBusy(false);
  };
  return (
    <Button busy={busy} icon={<Download className="size-4" aria-hidden="true" />} onClick={() => void save()}>
      <Trans>Export CSV</Trans>
    </Button>
  );
}
