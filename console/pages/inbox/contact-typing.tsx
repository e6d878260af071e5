import { Trans } from '@lingui/react/macro';
import { useEffect, useRef, useState } from 'react';
import { onContactTyping } from '#console/api/live.ts';
import { addressName } from '#console/lib/format.ts';
import type { Contact } from './conversations.ts';

/** That the contact types, until they stop, write, or nothing is heard of it any more. */
export default function ContactTyping({
  contact,
  lastHeard,
}: {
  contact: Contact;
  /** The last message of the contact. */
  lastHeard: string | undefined;
}) {
  const { address } = contact;
  const [typing, setTyping] = useState<{ since: string | undefined } | null>(null);
  const heard = useRef(lastHeard);
  useEffect(() => {
    heard.current = lastHeard;
  }, [lastHeard]);
  useEffect(() => {
    let end: ReturnType<typeof setTimeout> | undefined;
    const stop = onContactTyping((event) => {
      if (event.address !== address) return;
      clearTimeout(end);
      setTyping(event.state === 'on' ? { since: heard.current } : null);
      // By the clock of the server alone.
      const lastsMs = Date.parse(event.expiresAt) - Date.parse(event.timestamp);
      end = setTimeout(() => setTyping(null), lastsMs);
    });
    return () => {
      clearTimeout(end);
      stop();
    };
  }, [address]);
  return (
    <p role="status" className="flex items-center gap-2 pb-3 text-xs text-muted empty:hidden">
      {typing && typing.since === lastHeard && (
        <>
          <span
            aria-hidden="true"
            className="rounded-2xl rounded-bl-md border border-line bg-surface px-3 py-1.5 leading-none tracking-widest motion-safe:animate-pulse"
          >
            •••
          </span>
          <Typing name={addressName(contact.name)} />
        </>
      )}
    </p>
  );
}

const Typing = ({ name }: { name: string }) => <Trans>{name} is typing…</Trans>;
