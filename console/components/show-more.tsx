import { Trans } from '@lingui/react/macro';
import { Button } from './button.tsx';

/** Reads the next page of a list that `useReadPages` reads. */
export function ShowMore({
  read: { hasNextPage, isFetchingNextPage, fetchNextPage },
}: {
  read: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => Promise<unknown> };
}) {
  if (!hasNextPage) return null;
  return (
    <div className="my-3 flex justify-center">
      <Button small busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
        <Trans>Show more</Trans>
      </Button>
    </div>
  );
}
