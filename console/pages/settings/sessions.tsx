import { Trans, useLingui } from '@lingui/react/macro';
import { LogOut, MonitorSmartphone } from 'lucide-react';
import { useRead, useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { useIdentity, useTimeZone } from '#console/api/workspace.ts';
import { Badge } from '#console/components/badge.tsx';
import { Button } from '#console/components/button.tsx';
import { ConfirmButton } from '#console/components/confirm.tsx';
import { Card } from '#console/components/page.tsx';
import { EmptyState, ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { browserName } from '#console/lib/browser-name.ts';
import { fullTimeOf, relativeTimeOf } from '#console/lib/format.ts';
import { signOut } from '#console/lib/sign-out.ts';
import { Passkeys } from './passkeys.tsx';

type Session = ResponseOf<'GET /api/sessions'>['sessions'][number];

const REFRESH = ['GET /api/sessions'] as const;

/** Where the user is signed in, and for admins everybody in the workspace. */
export default function Sessions() {
  const { t } = useLingui();
  const { caller } = useIdentity();
  return caller.type === 'key' ? (
    <EmptyState icon={<MonitorSmartphone className="size-5" aria-hidden="true" />} title={t`No session`}>
      <Trans>You are signed in with an API key, which is valid until it is revoked.</Trans>
    </EmptyState>
  ) : (
    <>
      <Passkeys />
      <SessionList />
    </>
  );
}

function SessionList() {
  const { t } = useLingui();
  const { data, error, refetch } = useRead('GET /api/sessions', {});
  const { caller } = useIdentity();
  const others = data?.sessions.some(({ userId, isCurrent }) => userId === caller.id && !isCurrent);
  return (
    <Card title={t`Sessions`} actions={others && <EndOthers />}>
      {error && !data ? (
        <ErrorState error={error} retry={() => void refetch()} />
      ) : !data ? (
        <SkeletonRows rows={3} />
      ) : data.sessions.length === 0 ? (
        <EmptyState
          icon={<MonitorSmartphone className="size-5" aria-hidden="true" />}
          title={t`No sessions to end`}
        >
          <Trans>Nobody is signed in here with a session of a browser.</Trans>
        </EmptyState>
      ) : (
        <ul aria-label={t`Sessions`} className="divide-y divide-line">
          {data.sessions.map((session) => (
            <Row key={session._id} session={session} isOwn={session.userId === caller.id} />
          ))}
        </ul>
      )}
    </Card>
  );
}

function Row({ session, isOwn }: { session: Session; isOwn: boolean }) {
  const { t } = useLingui();
  const zone = useTimeZone();
  const { _id, userName, userId, userAgent, startedAt, seenAt, expiresAt, isCurrent } = session;
  const end = useWrite('DELETE /api/sessions/{id}', { refresh: REFRESH });
  const name = `${isOwn ? t`You` : (userName ?? userId)}, ${browserName(userAgent)}`;
  const started = fullTimeOf(startedAt, zone);
  const used = relativeTimeOf(seenAt);
  const ends = fullTimeOf(expiresAt, zone);
  return (
    <li className="flex items-center gap-3 px-4 py-3">
      <div className="min-w-0 flex-1">
        <p className="flex flex-wrap items-center gap-x-2 font-medium">
          {name}{' '}
          {isCurrent && (
            <Badge tone="good">
              <Trans>This browser</Trans>
            </Badge>
          )}
        </p>
        <p className="text-xs text-muted">
          <Trans>
            Signed in {started} · used {used} · ends {ends} at the latest
          </Trans>
        </p>
      </div>
      {isCurrent ? (
        <Button small icon={<LogOut className="size-4" aria-hidden="true" />} onClick={() => void signOut()}>
          <Trans>Sign out</Trans>
        </Button>
      ) : (
        <Button
          small
          kind="danger"
          busy={end.isPending}
          aria-label={t`End the session: ${name}`}
          onClick={() =>
            end.mutate(
              { params: { id: _id } },
              { onSuccess: () => toast(t`The session was ended`), onError: toastError },
            )
          }
        >
          <Trans>End</Trans>
        </Button>
      )}
    </li>
  );
}

function EndOthers() {
  const { t } = useLingui();
  const end = useWrite('DELETE /api/sessions', { refresh: REFRESH });
  return (
    <ConfirmButton
      label={t`End my other sessions`}
      title={t`End your other sessions?`}
      confirm={t`End them`}
      busy={end.isPending}
      onConfirm={() =>
        end.mutate({}, { onSuccess: () => toast(t`Your other sessions were ended`), onError: toastError })
      }
    >
      <p>
        <Trans>You stay signed in here. Every other browser has to sign in again.</Trans>
      </p>
    </ConfirmButton>
  );
}
