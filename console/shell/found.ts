import { useLingui } from '@lingui/react/macro';
import { useNavigate } from '@tanstack/react-router';
import { Building2, Inbox, type LucideIcon, Megaphone, Phone, UserRound } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useRead } from '#console/api/queries.ts';
import { useIdentity } from '#console/api/workspace.ts';
import { addressName } from '#console/lib/format.ts';
import { lineAddress, lineName } from '#console/lib/line.ts';
import { matchesWords } from '#console/lib/search-form.ts';
import { useSwitchWorkspace } from '#console/lib/switch-workspace.ts';

const PAUSE_MS = 200;
const LEAST_CHARACTERS = 2;
/** Of each kind. The pages of the kinds have searches that show all. */
const MOST = 5;
const MOST_CHARACTERS = 100;

/** What the command palette offers. */
export interface Command {
  /** Unique among what is shown. */
  id: string;
  title: string;
  icon: LucideIcon;
  /** What tells it from others of the same title: the address of a contact, or what kind of thing it is. */
  detail?: string;
  /** Its keyboard shortcut. */
  keys?: string;
  run: () => void;
}

interface Found {
  found: readonly Command[];
  isSearching: boolean;
  hasFailed: boolean;
}

/**
 * The contacts, conversations, campaigns and lines of the workspace that match a text, and the clients of an agency. They
 * come all at once, so that none takes the place of another that is being chosen.
 */
export function useFound(text: string): Found {
  const { t } = useLingui();
  const navigate = useNavigate();
  const { agency } = useIdentity();
  const switchTo = useSwitchWorkspace();
  const typed = text.trim().slice(0, MOST_CHARACTERS).trim();
  const search = useSettled(typed);
  const enabled = search.length >= LEAST_CHARACTERS;
  const leads = useRead('GET /api/leads', { query: { search, limit: MOST } }, { enabled });
  const conversations = useRead('GET /api/conversations', { query: { q: search, limit: MOST } }, { enabled });
  const campaigns = useRead('GET /api/campaigns', { query: { search, limit: MOST } }, { enabled });
  const lines = useRead('GET /api/lines/by-user', { query: { search } }, { enabled });
  const ofAgency = enabled && agency !== null;
  const clients = useRead('GET /api/agency/subaccounts', {}, { enabled: ofAgency });
  const reads = [leads, conversations, campaigns, lines, ...(ofAgency ? [clients] : [])];
  const isSearching =
    typed.length >= LEAST_CHARACTERS && (typed !== search || reads.some(({ isPending }) => isPending));
  if (isSearching || !enabled || typed !== search) return { found: [], isSearching, hasFailed: false };

  const open = (to: string, rest: object): void => void navigate({ to, ...rest } as never);
  return {
    isSearching,
    hasFailed: reads.some(({ isError }) => isError),
    found: [
      ...(conversations.data?.conversations ?? []).map(({ address, name }) => ({
        id: `conversation-${address}`,
        title: name || addressName(address),
        icon: Inbox,
        detail: t`Conversation`,
        run: () => open('/inbox/{-$address}', { params: { address } }),
      })),
      ...(leads.data?.leads ?? []).map(({ _id, firstName, lastName, phone, email }) => {
        const address = addressName(phone ?? email ?? '');
        const name = [firstName, lastName].filter(Boolean).join(' ');
        return {
          id: `lead-${_id}`,
          title: name || address || t`Contact`,
          icon: UserRound,
          detail: name === '' ? t`Contact` : address,
          run: () => open('/contacts', { search: { lead: _id } }),
        };
      }),
      ...(campaigns.data?.campaigns ?? []).map(({ _id, name }) => ({
        id: `campaign-${_id}`,
        title: name,
        icon: Megaphone,
        detail: t`Campaign`,
        run: () => open('/campaigns/$campaignId', { params: { campaignId: _id } }),
      })),
      ...(lines.data?.lines ?? []).slice(0, MOST).map((line) => ({
        id: `line-${line._id}`,
        title: lineName(line),
        icon: Phone,
        detail: lineAddress(line) ?? t`Line`,
        run: () => open('/lines', { search: { line: line._id } }),
      })),
      ...(ofAgency ? (clients.data?.subAccounts ?? []) : [])
        .filter(({ name }) => matchesWords(name, search) || matchesWords(t`Switch to ${name}`, search))
        .slice(0, MOST)
        .map(({ idpOrgId, name }) => ({
          id: `client-${idpOrgId}`,
          title: name,
          icon: Building2,
          detail: t`Client`,
          run: () => switchTo(idpOrgId),
        })),
    ],
  };
}

/** A text, once its user has paused typing. */
function useSettled(text: string): string {
  const [settled, settle] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => settle(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
