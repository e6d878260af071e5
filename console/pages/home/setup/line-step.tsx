import { useLingui } from '@lingui/react/macro';
import { useRead } from '#console/api/queries.ts';
import { lineAddress, lineName } from '#console/lib/line.ts';
import ConnectLine from '#console/pages/lines/connect-line.tsx';
import type { StepProps } from './step-props.ts';

/** Chooses where messages leave from, and connects it. */
export function LineStep({ done }: StepProps) {
  const { t } = useLingui();
  const lines = useRead('GET /api/lines/by-user', {}).data?.lines ?? [];
  const active = lines.filter(({ provisioningStatus }) => provisioningStatus === 'active');
  return (
    <div className="flex flex-col gap-4">
      {done && active.length > 0 && (
        <p>{active.map((line) => `${lineName(line)} (${lineAddress(line) ?? t`no address`})`).join(', ')}</p>
      )}
      <ConnectLine legend={done ? t`Connect another one` : t`Where messages leave from`} />
    </div>
  );
}
