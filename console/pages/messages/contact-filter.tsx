import { Trans, useLingui } from '@lingui/react/macro';
import { X } from 'lucide-react';
import { type KeyboardEvent, useEffect, useId, useState } from 'react';
import { useRead } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { IconButton } from '#console/components/button.tsx';
import { addressName } from '#console/lib/format.ts';

type Lead = ResponseOf<'GET /api/leads'>['leads'][number];

const FOUND = 8;
const PAUSE_MS = 200;

const addressOf = ({ phone, email }: Lead): string => addressName(phone ?? email ?? '');
const nameOf = (lead: Lead): string =>
  [lead.firstName, lead.lastName].filter(Boolean).join(' ') || addressOf(lead);

/** Finds a contact by a part of the name, company, email or phone number; the list then shows its messages. */
export function ContactFilter({ lead, onChange }: { lead: string; onChange: (leadId: string) => void }) {
  return lead === '' ? <Finder onChoose={onChange} /> : <Chosen id={lead} clear={() => onChange('')} />;
}

function Chosen({ id, clear }: { id: string; clear: () => void }) {
  const { t } = useLingui();
  const { data, error } = useRead('GET /api/leads/{id}', { params: { id } });
  return (
    <div className="input-box col-span-2 flex items-center gap-2 py-0.5 pr-0.5 md:w-52">
      <span className="min-w-0 flex-1 truncate">
        {data ? nameOf(data.lead) : error ? t`Unknown contact` : t`Contact`}
      </span>
      <IconButton label={t`Show all contacts`} onClick={clear}>
        <X className="size-4" aria-hidden="true" />
      </IconButton>
    </div>
  );
}

function Finder({ onChoose }: { onChoose: (leadId: string) => void }) {
  const { t } = useLingui();
  const listId = useId();
  const [text, setText] = useState('');
  const [position, setPosition] = useState(0);
  const search = useSettled(text.trim());
  const { data } = useRead(
    'GET /api/leads',
    { query: { search, limit: FOUND } },
    { enabled: search !== '', keep: true },
  );
  const isOpen = text.trim() !== '' && data !== undefined;
  const leads = isOpen ? data.leads : [];
  const chosen = Math.min(position, leads.length - 1);
  const choose = (lead: Lead | undefined): void => {
    if (lead) onChoose(lead._id);
  };
  const listen = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setPosition((chosen + step + leads.length) % Math.max(1, leads.length));
    else if (event.key === 'Enter') choose(leads[chosen]);
    else if (event.key === 'Escape') setText('');
    else return;
    event.preventDefault();
  };
  return (
    <div className="relative col-span-2" onBlur={() => setText('')}>
      <input
        role="combobox"
        aria-expanded={isOpen}
        aria-controls={listId}
        aria-activedescendant={leads[chosen] && `${listId}-${chosen}`}
        aria-label={t`Contact`}
        placeholder={t`Find a contact`}
        autoComplete="off"
        maxLength={200}
        className="input-box md:w-52"
        value={text}
        onKeyDown={listen}
        onChange={(event) => {
          setText(event.target.value);
          setPosition(0);
        }}
      />
      <div
        hidden={!isOpen}
        className="absolute inset-x-0 top-full z-20 mt-1 rounded-xl border border-line bg-raised p-1 shadow-raised md:w-80"
      >
        <div id={listId} role="listbox" aria-label={t`Contacts`}>
          {leads.map((lead, index) => (
            <div
              key={lead._id}
              id={`${listId}-${index}`}
              role="option"
              aria-selected={index === chosen}
              tabIndex={-1}
              onMouseMove={() => setPosition(index)}
              // Before the field loses the focus.
              onMouseDown={(event) => {
                event.preventDefault();
                choose(lead);
              }}
              className="flex cursor-pointer items-baseline gap-2 rounded-lg px-2.5 py-1.5 aria-selected:bg-hover"
            >
              <span className="truncate">{nameOf(lead)}</span>
              <span className="ml-auto shrink-0 text-xs text-muted">{addressOf(lead)}</span>
            </div>
          ))}
        </div>
        {leads.length === 0 && (
          <p className="px-2.5 py-1.5 text-muted">
            <Trans>No contact matches</Trans>
          </p>
        )}
      </div>
    </div>
  );
}

/** The value once it has not changed for a moment. */
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
