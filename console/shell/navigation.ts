import {
  ArrowLeftRight,
  Building2,
  ChartLine,
  House,
  Inbox,
  Megaphone,
  MessageSquare,
  Phone,
  Settings,
  ShieldCheck,
  Users,
  Webhook,
} from 'lucide-react';
import type { LucideIcon } from 'lucide-react';
import { useIdentity } from '#console/api/workspace.ts';

export interface NavigationItem {
  to: string;
  title: string;
  icon: LucideIcon;
  /** The key after `g`. */
  key: string;
  /** Shown only to users of an agency. */
  forAgency?: true;
}

/** The sidebar, in groups. The command palette and the keyboard shortcuts follow it. */
export const NAVIGATION: readonly (readonly NavigationItem[])[] = [
  [
    { to: '/', title: 'Home', icon: House, key: 'h' },
    { to: '/inbox', title: 'Inbox', icon: Inbox, key: 'i' },
    { to: '/lines', title: 'Lines', icon: Phone, key: 'l' },
    { to: '/contacts', title: 'Contacts', icon: Users, key: 'c' },
    { to: '/campaigns', title: 'Campaigns', icon: Megaphone, key: 'p' },
    { to: '/messages', title: 'Messages', icon: MessageSquare, key: 'm' },
    { to: '/webhooks', title: 'Webhooks', icon: Webhook, key: 'w' },
    { to: '/requests', title: 'Requests', icon: ArrowLeftRight, key: 'r' },
    { to: '/analytics', title: 'Analytics', icon: ChartLine, key: 'a' },
    { to: '/compliance', title: 'Compliance', icon: ShieldCheck, key: 'o' },
    { to: '/settings', title: 'Settings', icon: Settings, key: 's' },
  ],
  [{ to: '/agency', title: 'Agency', icon: Building2, key: 'y', forAgency: true }],
];

/** The items for the caller. */
export function useNavigation(): readonly (readonly NavigationItem[])[] {
  const { agency } = useIdentity();
  return NAVIGATION.map((group) => group.filter(({ forAgency }) => agency !== null || !forAgency)).filter(
    (group) => group.length > 0,
  );
}
