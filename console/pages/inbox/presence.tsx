import { t } from '@lingui/core/macro';
import { Eye, PencilLine } from 'lucide-react';
import { useEffect, useState } from 'react';
import { request } from '#console/api/client.ts';
import { onPresence, type PresenceEvent } from '#console/api/live.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { useUserId } from './team.ts';

type Person = ResponseOf<'POST /api/conversations/{address}/presence'>['others'][number];

const REPORT_EVERY_MS = 10_000;

/** Says what the user does. @returns who else is there; null if that is not known. */
export const reportPresence = (
  address: string,
  state: PresenceEvent['state'],
): Promise<ResponseOf<'POST /api/conversations/{address}/presence'> | null> =>
  request('POST /api/conversations/{address}/presence', { params: { address }, body: { state } }).catch(
    () => null,
  );

/** Reports that the user is here, and shows who else is. A key has no user, and reports nothing. */
export function Presence({ address, isTyping }: { address: string; isTyping: boolean }) {
  const userId = useUserId();
  const [others, setOthers] = useState<readonly Person[]>([]);
  const state = isTyping ? 'typing' : 'viewing';

  useEffect(() => {
    if (userId === null) return undefined;
    const report = async (): Promise<void> => {
      if (document.hidden) return setOthers((known) => known.filter(isThere));
      const said = await reportPresence(address, state);
      if (said) setOthers(said.others);
    };
    void report();
    const timer = setInterval(() => void report(), REPORT_EVERY_MS);
    return () => clearInterval(timer);
  }, [address, state, userId]);

  useEffect(() => {
    if (userId === null) return undefined;
    return () => void reportPresence(address, 'left');
  }, [address, userId]);

  useEffect(
    () =>
      onPresence((event: PresenceEvent) => {
        if (event.address !== address || event.userId === userId) return;
        setOthers((known) => [
          ...known.filter((person) => person.userId !== event.userId),
          ...(event.state === 'left' ? [] : [event]),
        ]);
      }),
    [address, userId],
  );

  return (
    <p role="status" className="flex flex-wrap gap-x-3 text-xs text-muted empty:hidden">
      {others.map(({ userId: id, name, state: does }) => (
        <span key={id} className="flex items-center gap-1">
          {does === 'typing' ? (
            <PencilLine className="size-3" aria-hidden="true" />
          ) : (
            <Eye className="size-3" aria-hidden="true" />
          )}
          {presenceOf(name || t`A colleague`, does)}
        </span>
      ))}
    </p>
  );
}

const presenceOf = (name: string, does: Person['state']): string =>
  does === 'typing' ? t`${name} is answering` : t`${name} is here`;

const isThere = ({ expiresAt }: Person): boolean => Date.parse(expiresAt) > Date.now();
