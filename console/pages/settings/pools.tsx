import { plural } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { Layers, Plus } from 'lucide-react';
import { useState } from 'react';
import { useRead, useWrite } from '#console/api/queries.ts';
import { Button } from '#console/components/button.tsx';
import { EditableRow } from '#console/components/editable-row.tsx';
import { NearLimit } from '#console/components/near-limit.tsx';
import { Card } from '#console/components/page.tsx';
import { EmptyState, ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { type Pool, strategies } from './pool-draft.ts';
import { PoolForm } from './pool-form.tsx';

/** The pools of lines among which campaigns choose. */
export default function Pools() {
  const { t } = useLingui();
  const pools = useRead('GET /api/pools', { query: { limit: 200 } });
  const [editing, edit] = useState<Pool | 'new' | null>(null);
  const create = (
    <Button
      small
      kind="primary"
      icon={<Plus className="size-4" aria-hidden="true" />}
      onClick={() => edit('new')}
    >
      <Trans>Create a pool</Trans>
    </Button>
  );
  return (
    <Card title={t`Line pools`} actions={create}>
      <NearLimit limit="pools" />
      {pools.error && !pools.data ? (
        <ErrorState error={pools.error} retry={() => void pools.refetch()} />
      ) : !pools.data ? (
        <SkeletonRows rows={3} />
      ) : pools.data.pools.length === 0 ? (
        <EmptyState icon={<Layers className="size-5" aria-hidden="true" />} title={t`No pools yet`}>
          <Trans>
            A pool says which lines send a campaign, in which shares, and which messages other lines take over
            when one cannot send.
          </Trans>
        </EmptyState>
      ) : (
        <ul aria-label={t`Line pools`} className="divide-y divide-line">
          {pools.data.pools.map((pool) => (
            <Row key={pool._id} pool={pool} edit={() => edit(pool)} />
          ))}
        </ul>
      )}
      {editing !== null && <PoolForm pool={editing === 'new' ? null : editing} close={() => edit(null)} />}
    </Card>
  );
}

function Row({ pool, edit }: { pool: Pool; edit: () => void }) {
  const { t } = useLingui();
  const { name, lines, strategy, failover, failoverAfterMinutes } = pool;
  const remove = useWrite('DELETE /api/pools/{id}', { refresh: ['GET /api/pools'] });
  const lineCount = lines.length;
  const notes = [
    plural(lineCount, { one: '# line', other: '# lines' }),
    strategies().find(({ value }) => value === strategy)?.label,
    {
      never: t`messages wait for their line`,
      new_conversations: t`messages that start a conversation move after ${plural(failoverAfterMinutes, { one: '# minute', other: '# minutes' })}`,
      always: t`all messages move after ${plural(failoverAfterMinutes, { one: '# minute', other: '# minutes' })}`,
    }[failover],
  ];
  return (
    <EditableRow
      name={name}
      about={notes.join(' · ')}
      edit={edit}
      remove={{
        confirm: t`Delete the pool`,
        text: t`Messages that wait keep their lines. A pool that a draft, active or paused campaign uses cannot be deleted.`,
        busy: remove.isPending,
        run: () =>
          remove.mutate(
            { params: { id: pool._id } },
            { onSuccess: () => toast(t`The pool was deleted`), onError: toastError },
          ),
      }}
    />
  );
}
