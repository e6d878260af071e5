import { useLingui } from '@lingui/react/macro';
import { useParams } from '@tanstack/react-router';
import { X } from 'lucide-react';
import { useState } from 'react';
import { useLiveInterval } from '#console/api/live.ts';
import { useRead } from '#console/api/queries.ts';
import { useIdentity } from '#console/api/workspace.ts';
import { IconButton } from '#console/components/button.tsx';
import { addressName } from '#console/lib/format.ts';
import { PhoneScreen } from './phone-screen.tsx';

/** A number that nobody has. */
const SOMEBODY = '+14155550123';

/** The phone of a contact, in test mode: it shows what a phone would, and somebody does with it what one does with a phone. */
export default function Phone({ close }: { close: () => void }) {
  const { t } = useLingui();
  const { workspace } = useIdentity();
  const { address: named } = useParams({ strict: false });
  // A group has no phone.
  const opened = named?.startsWith('group:') ? undefined : named;
  const refetchInterval = useLiveInterval();
  const conversations = useRead('GET /api/conversations', { query: { limit: 50 } }, { refetchInterval });
  const known = (conversations.data?.conversations ?? []).filter(({ group }) => group === null);
  const [chosen, choose] = useState<{ address: string; opened: string | undefined }>();
  // The contact whose conversation is open, unless somebody has taken another phone.
  const taken = chosen?.opened === opened ? chosen?.address : undefined;
  const contact = taken ?? opened ?? known[0]?.address ?? SOMEBODY;
  const contacts = [
    ...known.map(({ address, name }) => ({ address, name })),
    ...(known.some(({ address }) => address === contact) ? [] : [{ address: contact, name: contact }]),
    ...(contact === SOMEBODY || known.some(({ address }) => address === SOMEBODY)
      ? []
      : [{ address: SOMEBODY, name: t`Somebody new` }]),
  ];
  return (
    <aside
      aria-label={t`Phone of a contact`}
      className="flex w-80 max-w-full shrink-0 flex-col border-l border-line bg-canvas p-3 max-lg:fixed max-lg:inset-y-0 max-lg:right-0 max-lg:z-30 max-lg:shadow-raised"
    >
      <div className="flex min-h-0 flex-1 flex-col overflow-hidden rounded-3xl border-4 border-edge bg-surface">
        <div className="flex items-center gap-1 border-b border-line p-2">
          <select
            aria-label={t`Whose phone`}
            className="input-box h-8 min-w-0 flex-1 py-0"
            value={contact}
            onChange={(event) => choose({ address: event.target.value, opened })}
          >
            {contacts.map(({ address, name }) => (
              <option key={address} value={address}>
                {name === address ? addressName(address) : `${name} · ${addressName(address)}`}
              </option>
            ))}
          </select>
          <IconButton label={t`Put the phone away`} onClick={close}>
            <X className="size-4" aria-hidden="true" />
          </IconButton>
        </div>
        <PhoneScreen
          key={contact}
          contact={contact}
          isKnown={known.some((one) => one.address === contact)}
          workspaceName={workspace.name}
        />
      </div>
    </aside>
  );
}
