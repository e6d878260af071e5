import { useLingui } from '@lingui/react/macro';
import { UserRound } from 'lucide-react';
import type { ReactElement } from 'react';
import { Menu } from '#console/components/menu.tsx';
import type { Change } from './change.ts';
import { useColleagues, useUserId } from './team.ts';
import { TimeMenu } from './time-menu.tsx';

type Choose = (change: Change, done: string) => void;

/** Who answers. */
export function AssignMenu({
  trigger,
  assigneeId,
  choose,
}: {
  trigger: ReactElement;
  assigneeId?: string | null;
  choose: Choose;
}) {
  const { t } = useLingui();
  const userId = useUserId();
  const colleagues = useColleagues();
  const icon = <UserRound className="size-4" aria-hidden="true" />;
  return (
    <Menu
      trigger={trigger}
      groups={[
        {
          title: t`Assign to`,
          items: colleagues.map(({ userId: id, name }) => ({
            label: id === userId ? t`${name} (you)` : name,
            icon,
            checked: id === assigneeId,
            onSelect: () => choose({ assigneeId: id }, t`Assigned to ${name}`),
          })),
        },
        {
          items: [
            {
              label: t`Nobody`,
              checked: assigneeId === null,
              onSelect: () => choose({ assigneeId: null }, t`Assigned to nobody`),
            },
          ],
        },
      ]}
    />
  );
}

/** Until when it is out of sight. */
export function SnoozeMenu({ trigger, choose }: { trigger: ReactElement; choose: Choose }) {
  const { t } = useLingui();
  return (
    <TimeMenu
      trigger={trigger}
      title={t`Snooze`}
      submit={t`Snooze`}
      choose={(at) => choose({ status: 'snoozed', snoozedUntil: at.toISOString() }, t`Snoozed`)}
    />
  );
}
