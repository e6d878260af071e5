import { ChartLine, House, Inbox, Phone, Settings } from 'lucide-react';
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
    { to: '/analytics', title: 'Analytics', icon: ChartLine, key: 'a' },
    { to: '/settings', title: 'Settings', icon: Settings, key: 's' },
  ],
];
