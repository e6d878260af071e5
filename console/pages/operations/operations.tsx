import { Trans, useLingui } from '@lingui/react/macro';
import { useRead, useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { useIdentity, useTimeZone } from '#console/api/workspace.ts';
import { Button } from '#console/components/button.tsx';
import { ConfirmButton } from '#console/components/confirm.tsx';
import { Fact, Facts } from '#console/components/facts.tsx';
import { Card, Page } from '#console/components/page.tsx';
import { EmptyState, ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { WorkflowLink } from '#console/components/workflow-link.tsx';
import { fullTimeOf, numberOf } from '#console/lib/format.ts';

const SET_ASIDE = 'GET /api/operations/set-aside';
const REFRESH_MS = 30_000;

type Item = ResponseOf<typeof SET_ASIDE>['items'][number];

/** What the people who operate the installation see of all workspaces. */
export default function Operations() {
  const { t } = useLingui();
  const { operations } = useIdentity();
  return (
    <Page title={t`Operations`} description={t`Work of all workspaces that always fails and is set aside`}>
      {operations ? (
        <SetAside />
      ) : (
        <EmptyState title={t`For operators`}>
          <Trans>This page is for the people who operate the installation.</Trans>
        </EmptyState>
      )}
    </Page>
  );
}

function SetAside() {
  const { t } = useLingui();
  const { data, error, refetch } = useRead(SET_ASIDE, {}, { refetchInterval: REFRESH_MS });
  if (!data) return error ? <ErrorState error={error} retry={() => void refetch()} /> : <SkeletonRows />;
  if (data.items.length === 0)
    return (
      <EmptyState title={t`Nothing is set aside`}>
        <Trans>Work that fails 20 times, or for a day, is listed here with its reason.</Trans>
      </EmptyState>
    );
  return (
    <div className="flex flex-col gap-4">
      {data.items.map((item) => (
        <Work key={item.id} item={item} />
      ))}
    </div>
  );
}

function Work({ item }: { item: Item }) {
  const { t } = useLingui();
  const zone = useTimeZone();
  const { id, activity, workflowId, workspaceId, reason, failures, firstFailedAt, lastFailedAt } = item;
  const retry = useWrite('POST /api/operations/set-aside/{id}/retry', { refresh: [SET_ASIDE] });
  const drop = useWrite('POST /api/operations/set-aside/{id}/drop', { refresh: [SET_ASIDE] });
  const settle = (action: typeof retry | typeof drop, done: string): void =>
    action.mutate({ params: { id } }, { onSuccess: () => toast(done), onError: toastError });
  return (
    <Card title={activity}>
      <p className="mb-3 break-words">{reason}</p>
      <Facts>
        <Fact name={t`Workspace`}>{workspaceId}</Fact>
        <Fact name={t`Workflow`}>
          {workflowId} <WorkflowLink id={workflowId} />
        </Fact>
        <Fact name={t`Failures`}>{numberOf(failures)}</Fact>
        <Fact name={t`First failure`}>{fullTimeOf(firstFailedAt, zone)}</Fact>
        <Fact name={t`Last failure`}>{fullTimeOf(lastFailedAt, zone)}</Fact>
      </Facts>
      <div className="mt-3 flex gap-2">
        <Button
          small
          kind="primary"
          busy={retry.isPending}
          onClick={() => settle(retry, t`It is tried again now`)}
        >
          <Trans>Try again</Trans>
        </Button>
        <ConfirmButton
          label={t`Give up`}
          title={t`Give up this work?`}
          confirm={t`Give up`}
          busy={drop.isPending}
          onConfirm={() => settle(drop, t`It was given up`)}
        >
          <Trans>
            A draft is discarded, and a message fails. Other work rests until something new asks for it.
          </Trans>
        </ConfirmButton>
      </div>
    </Card>
  );
}
