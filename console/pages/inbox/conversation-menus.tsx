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
  const userId = useUserId();
  const colleagues = useColleagues();
  const icon = <UserRound className="size-4" aria-hidden="true" />;
  return (
    <Menu
      trigger={trigger}
      groups={[
        {
          title: 'Assign to',
          items: colleagues.map(({ userId: id, name }) => ({
            label: id === userId ? `${name} (you)` : name,
            icon,
            checked: id === assigneeId,
            onSelect: () => choose({ assigneeId: id }, `Assigned to ${name}`),
          })),
        },
        {
          items: [
            {
              label: 'Nobody',
              checked: assigneeId === null,
              onSelect: () => choose({ assigneeId: null }, 'Assigned to nobody'),
            },
          ],
        },
      ]}
    />
  );
}

/** Until when it is out of sight. */
export function SnoozeMenu({ trigger, choose }: { trigger: ReactElement; choose: Choose }) {
  return (
    <Menu
      trigger={trigger}
      groups={[
        {
          title: 'Snooze',
          items: snoozeTimes(new Date()).map(({ label, until }) => ({
            label,
            icon: <Clock className="size-4" aria-hidden="true" />,
            onSelect: () => choose({ status: 'snoozed', snoozedUntil: until.toISOString() }, 'Snoozed'),
          })),
        },
      ]}
    />
  );
}
