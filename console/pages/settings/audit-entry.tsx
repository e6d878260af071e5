import { Trans, useLingui } from '@lingui/react/macro';
import type { ReactNode } from 'react';
import { useTimeZone } from '#console/api/workspace.ts';
import { Button } from '#console/components/button.tsx';
import { Drawer } from '#console/components/dialog.tsx';
import { fullTimeOf } from '#console/lib/format.ts';
import type { Search } from '#console/lib/search.ts';
import { actionName, actorName, channelName, type Entry, targetName } from './audit-actions.ts';

/** One change: what was sent, and the way to others like it. */
export function EntryDrawer({
  entry,
  client,
  close,
  filter,
}: {
  entry: Entry | undefined;
  /** The name of the client that was changed. */
  client: string | undefined;
  close: () => void;
  filter: (filters: Search) => void;
}) {
  const { t } = useLingui();
  const zone = useTimeZone();
  return (
    <Drawer
      open={entry !== undefined}
      onClose={close}
      title={entry ? actionName(entry.action) : t`Change`}
      description={entry && fullTimeOf(entry.at, zone)}
    >
      {entry && <Details entry={entry} client={client} filter={filter} />}
    </Drawer>
  );
}

function Details({
  entry: { actor, channel, target, reason, changes },
  client,
  filter,
}: {
  entry: Entry;
  client: string | undefined;
  filter: (filters: Search) => void;
}) {
  const { t } = useLingui();
  const changed = Object.entries(changes);
  const who = actorName(actor);
  const what = inSentence(targetName(target.type));
  return (
    <>
      <dl className="flex flex-col gap-3">
        <Fact name={t`Who`} id={actor.id}>
          {who}
        </Fact>
        <Fact name={t`Via`}>{channelName(channel)}</Fact>
        <Fact name={t`Changed`} id={target.id}>
          {[targetName(target.type), client].filter(Boolean).join(': ')}
        </Fact>
        {reason !== null && <Fact name={t`Reason`}>{reason}</Fact>}
      </dl>
      <h3 className="mt-6 font-medium">
        <Trans>New values</Trans>
      </h3>
      {changed.length === 0 ? (
        <p className="mt-1 text-muted">
          <Trans>None were recorded.</Trans>
        </p>
      ) : (
        <dl className="mt-2 flex flex-col gap-2">
          {changed.map(([name, value]) => (
            <Fact key={name} name={name}>
              <code className="font-mono text-xs wrap-anywhere">{JSON.stringify(value)}</code>
            </Fact>
          ))}
        </dl>
      )}
      <div className="mt-6 flex flex-wrap gap-2">
        {actor.id !== null && (
          <Button small onClick={() => filter({ actorId: actor.id ?? '' })}>
            <Trans>All changes by {who}</Trans>
          </Button>
        )}
        <Button small onClick={() => filter({ targetType: target.type, targetId: target.id })}>
          <Trans>All changes to this {what}</Trans>
        </Button>
      </div>
    </>
  );
}

/** `Line request` → line request, but API key */
const inSentence = (name: string): string =>
  name.replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase());

const Fact = ({ name, id, children }: { name: string; id?: string | null; children: ReactNode }) => (
  <div className="grid grid-cols-[9rem_1fr] gap-3">
    <dt className="truncate text-muted" title={name}>
      {name}
    </dt>
    <dd className="min-w-0">
      {children}
      {id && <span className="block font-mono text-xs text-muted wrap-anywhere">{id}</span>}
    </dd>
  </div>
);
