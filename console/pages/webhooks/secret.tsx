import { Check, Copy } from 'lucide-react';
import { useState } from 'react';
import { Button } from '#console/components/button.tsx';
import { TextField } from '#console/components/field.tsx';

/** A signing secret, which the API returns only once. */
export function Secret({ secret }: { secret: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(secret);
      setCopied(true);
    } catch {
      // The browser refuses: it can still be selected.
    }
  };
  return (
    <div className="flex flex-col gap-3">
      <TextField
        label="Signing secret"
        readOnly
        value={secret}
        className="font-mono text-xs"
        hint="Copy it now: it is not shown again. Use it to verify the signature of each delivery."
        onFocus={(event) => event.target.select()}
      />
      <div>
        <Button
          small
          icon={
            copied ? (
              <Check className="size-4" aria-hidden="true" />
            ) : (
              <Copy className="size-4" aria-hidden="true" />
            )
          }
          onClick={() => void copy()}
        >
          {copied ? 'Copied' : 'Copy'}
        </Button>
      </div>
    </div>
  );
}
