import { useLingui } from '@lingui/react/macro';
import { ShownOnce } from '#console/components/shown-once.tsx';

/** A signing secret, when it was created or rotated. */
export function Secret({ secret }: { secret: string }) {
  const { t } = useLingui();
  return (
    <ShownOnce
      label={t`Signing secret`}
      value={secret}
      use={t`Use it to verify the signature of each delivery.`}
    />
  );
}
