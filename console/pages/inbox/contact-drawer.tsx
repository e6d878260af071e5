import { useRead } from '#console/api/queries.ts';
import { LeadDrawer } from '#console/pages/contacts/lead-drawer.tsx';

/** The contact of a conversation, beside it. */
export default function ContactDrawer({ leadId, close }: { leadId: string; close: () => void }) {
  const lists = useRead('GET /api/lists', {});
  return <LeadDrawer leadId={leadId} lists={lists.data?.lists ?? []} close={close} />;
}
