import { Trans, useLingui } from '@lingui/react/macro';
import { Check, Copy } from 'lucide-react';
import { useState } from 'react';
import { Button } from './button.tsx';
import { TextField } from './field.tsx';

/** A key or a secret that the API returns only once. */
export function ShownOnce({ label, value, use }: { label: string; value: string; use?: string }) {
  const { t } = useLingui();
  const [copied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(value);
      setCopied(true);
    } catch {
      // The browser refuses access to the clipboard; the text can still be selected.
    }
  };
  const Icon = copied ? Check : Copy;
  return (
    <div className="flex flex-col gap-3">
      <TextField
        label={label}
        readOnly
        value={value}
        className="font-mono text-xs"
        hint={[t`Copy it now: it is not shown again.`, use].filter(Boolean).join(' ')}
        onFocus={(event) => event.target.select()}
      />
      <div>
        <Button small icon={<Icon className="size-4" aria-hidden="true" />} onClick={() => void copy()}>
          {copied ? <Trans>Copied</Trans> : <Trans>Copy</Trans>}
        </Button>
      </div>
    </div>
  );
}
