import {
  ChartLine,
  House,
  Inbox,
  Megaphone,
  MessageSquare,
  Phone,
  Settings,
  Users,
  Webhook,
} from 'lucide-react';
import type { LucideIcon } from 'lucide-react';

export interface NavigationItem {
  to: string;
  title: string;
  icon: LucideIcon;
  /** After `g`. */
  key: string;
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
    { to: '/analytics', title: 'Analytics', icon: ChartLine, key: 'a' },
    { to: '/settings', title: 'Settings', icon: Settings, key: 's' },
  ],
];
