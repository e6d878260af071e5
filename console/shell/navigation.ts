import { msg } from '@lingui/core/macro';
import { useLingui } from '@lingui/react/macro';
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
  Wrench,
} from 'lucide-react';
import type { MessageDescriptor } from '@lingui/core';
import type { LucideIcon } from 'lucide-react';
import { useIdentity } from '#console/api/workspace.ts';

interface NavigationEntry {
  to: string;
  title: MessageDescriptor;
  icon: LucideIcon;
  /** The key after `g`. */
  key: string;
  /** Shown only to users of an agency. */
  forAgency?: true;
  /** Shown only to users who operate the installation. */
  forOperators?: true;
}

/** The sidebar, in groups. The command palette and the keyboard shortcuts follow it. */
export const NAVIGATION: readonly (readonly NavigationEntry[])[] = [
  [
    { to: '/', title: msg`Home`, icon: House, key: 'h' },
    { to: '/inbox', title: msg`Inbox`, icon: Inbox, key: 'i' },
    { to: '/lines', title: msg`Lines`, icon: Phone, key: 'l' },
    { to: '/contacts', title: msg`Contacts`, icon: Users, key: 'c' },
    { to: '/campaigns', title: msg`Campaigns`, icon: Megaphone, key: 'p' },
    { to: '/messages', title: msg`Messages`, icon: MessageSquare, key: 'm' },
    { to: '/webhooks', title: msg`Webhooks`, icon: Webhook, key: 'w' },
    { to: '/requests', title: msg`Requests`, icon: ArrowLeftRight, key: 'r' },
    { to: '/analytics', title: msg`Analytics`, icon: ChartLine, key: 'a' },
    { to: '/compliance', title: msg`Compliance`, icon: ShieldCheck, key: 'o' },
    { to: '/settings', title: msg`Settings`, icon: Settings, key: 's' },
  ],
  [
    { to: '/agency', title: msg`Agency`, icon: Building2, key: 'y', forAgency: true },
    { to: '/operations', title: msg`Operations`, icon: Wrench, key: 'x', forOperators: true },
  ],
];

export interface NavigationItem extends Omit<NavigationEntry, 'title'> {
  title: string;
}

/** The items for the caller. */
export function useNavigation(): readonly (readonly NavigationItem[])[] {
  const { agency, operations } = useIdentity();
  const { t } = useLingui();
  return NAVIGATION.map((group) =>
    group
      .filter(
        ({ forAgency, forOperators }) =>
          (agency !== null || !forAgency) && (operations !== null || !forOperators),
      )
      .map((item) => ({ ...item, title: t(item.title) })),
  ).filter((group) => group.length > 0);
}

export interface Tab {
  value: string;
  title: MessageDescriptor;
  /** What it is for, in words that its title lacks. */
  words?: MessageDescriptor;
}

/** The tabs of the page Settings, which the command palette finds too. */
export const SETTINGS = [
  { value: 'team', title: msg`Team`, words: msg`Workspace name, time zone, country` },
  { value: 'keys', title: msg`API keys` },
  { value: 'sessions', title: msg`Sessions` },
  { value: 'pools', title: msg`Line pools` },
  { value: 'copilot', title: msg`AI copilot` },
  { value: 'rules', title: msg`Rules` },
  { value: 'crms', title: msg`CRMs` },
  { value: 'fallback', title: msg`SMS fallback` },
  { value: 'emails', title: msg`Emails` },
  { value: 'audit', title: msg`Audit log` },
] as const satisfies readonly Tab[];

/** Tabs of the page Agency that people look for by name. */
export const AGENCY_TABS: readonly Tab[] = [
  { value: 'billing', title: msg`Billing`, words: msg`Plans, card` },
  { value: 'suppressions', title: msg`Suppressions` },
];
