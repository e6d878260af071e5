import { useLingui } from '@lingui/react/macro';
import { Clock, UserRound } from 'lucide-react';
import type { ReactElement } from 'react';
import { Menu } from '#console/components/menu.tsx';
import { type Change, snoozeTimes } from './change.ts';
import { useColleagues, useUserId } from './team.ts';

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
    <Menu
      trigger={trigger}
      groups={[
        {
          title: t`Snooze`,
          items: snoozeTimes().map(({ label, until }) => ({
            label,
            icon: <Clock className="size-4" aria-hidden="true" />,
            onSelect: () => choose({ status: 'snoozed', snoozedUntil: until().toISOString() }, t`Snoozed`),
          })),
        },
      ]}
    />
  );
}
