import { useLingui } from '@lingui/react/macro';
import { lazy, Suspense } from 'react';
import { useBilling } from '#console/api/workspace.ts';
import { Drawer } from '#console/components/dialog.tsx';
import { SkeletonRows } from '#console/components/states.tsx';

const ConnectLine = lazy(() => import('./connect-line.tsx'));

/** Requests a line: granted by the plan, or paid for on the page that the answer names. */
export function RequestLine({
  open,
  close,
  onShow,
}: {
  open: boolean;
  close: () => void;
  onShow: (lineId: string) => void;
}) {
  const { t } = useLingui();
  const billing = useBilling();
  return (
    <Drawer
      open={open}
      onClose={close}
      title={t`Request a line`}
      description={
        billing.workspace
          ? t`What your plan includes is set up at once; anything else is set up once it is paid for.`
          : t`A new one, or one of your own at your carrier.`
      }
    >
      <Suspense fallback={<SkeletonRows rows={3} />}>
        <ConnectLine
          legend={t`Where messages leave from`}
          onShow={(lineId) => {
            close();
            onShow(lineId);
          }}
        />
      </Suspense>
    </Drawer>
  );
}
