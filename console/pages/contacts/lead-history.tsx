import type { ReactNode } from 'react';
import { useRead } from '#console/api/queries.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { Status } from '#console/components/badge.tsx';
import { ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { addressName, fullTimeOf, shortTimeOf, wordsOf } from '#console/lib/format.ts';
import { NoteItem } from '../inbox/note.tsx';
import type { Lead } from './lead.ts';

/** What was sent to a contact, which campaigns, what they consented to, and what the team noted. */
export function LeadHistory({ lead }: { lead: Lead }) {
  const addresses = [...lead.phones, ...lead.emails];
  return (
    <div className="flex flex-col gap-6">
      <Messages leadId={lead._id} />
      {addresses.map((address) => (
        <section key={address} aria-label={addressName(address)} className="flex flex-col gap-3">
          <h3 className="font-medium">{addressName(address)}</h3>
          <Consents address={address} />
          <Notes address={address} />
        </section>
      ))}
    </div>
  );
}

function Messages({ leadId }: { leadId: string }) {
  const { data, error, refetch } = useRead('GET /api/messages', { query: { leadId, limit: 50 } });
  const campaigns = useRead('GET /api/campaigns', { query: { limit: 200 } }).data?.campaigns ?? [];
  if (error) return <ErrorState error={error} retry={() => void refetch()} />;
  if (!data) return <SkeletonRows rows={3} />;
  return (
    <section aria-label="Messages">
      <h3 className="mb-2 font-medium">Messages</h3>
      <Entries
        none="No messages yet"
        entries={data.messages.map(({ _id, sentAt, createdAt, message, status, campaignId }) => ({
          id: _id,
          at: sentAt ?? createdAt,
          text: message,
          more: (
            <>
              <Status status={status} />
              {campaigns.find((campaign) => campaign._id === campaignId)?.name}
            </>
          ),
        }))}
      />
    </section>
  );
}

function Consents({ address }: { address: string }) {
  const { data } = useRead('GET /api/consents', { query: { address, limit: 50 } });
  return (
    <Entries
      none="No consent is recorded"
      entries={(data?.consents ?? []).map(({ _id, at, status, channel, source, evidence }) => ({
        id: _id,
        at,
        text: `Consent ${status}${channel === 'any' ? '' : ` for ${channel}`}`,
        more: [wordsOf(source), evidence].filter(Boolean).join(': '),
      }))}
    />
  );
}

/** Notes belong to a conversation, which a contact without messages does not have. */
function Notes({ address }: { address: string }) {
  const conversations = useRead('GET /api/conversations', { query: { q: address, limit: 50 } });
  const exists = conversations.data?.conversations.some((conversation) => conversation.address === address);
  const { data } = useRead(
    'GET /api/conversations/{address}/notes',
    { params: { address }, query: { limit: 50 } },
    { enabled: exists === true },
  );
  return data?.notes.map((note) => <NoteItem key={note._id} note={note} />);
}

function Entries({
  entries,
  none,
}: {
  entries: readonly { id: string; at: string; text: string; more: ReactNode }[];
  none: string;
}) {
  const zone = useTimeZone();
  if (entries.length === 0) return <p className="text-muted">{none}</p>;
  return (
    <ul className="flex flex-col">
      {entries.map(({ id, at, text, more }) => (
        <li key={id} className="border-b border-line py-2 last:border-0">
          <p className="line-clamp-3 wrap-anywhere">{text}</p>
          <p className="flex flex-wrap items-center gap-2 text-xs text-muted">
            <time dateTime={at} title={fullTimeOf(at, zone)}>
              {shortTimeOf(at, zone)}
            </time>
            {more}
          </p>
        </li>
      ))}
    </ul>
  );
}
