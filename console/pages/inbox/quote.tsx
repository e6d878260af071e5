import { Trans, useLingui } from '@lingui/react/macro';
import { CornerUpLeft } from 'lucide-react';
import { classes } from '#console/components/class-names.ts';
import { addressName } from '#console/lib/format.ts';
import type { Contact, ThreadItem } from './conversations.ts';

/** What a message that is answered says now. undefined: it is not loaded. */
export function Quoted({ item }: { item: ThreadItem | undefined }) {
  if (!item) return <Trans>An earlier message</Trans>;
  if (item.unsentAt !== null)
    return item.direction === 'out' ? <Trans>Taken back</Trans> : <Trans>Removed by the contact</Trans>;
  return item.message || <Trans>Attachment</Trans>;
}

/** Who wrote a message. */
export function useWriter(contact: Contact): (item: ThreadItem) => string {
  const { t } = useLingui();
  return ({ direction, participant }) =>
    direction === 'out' ? t`You` : addressName(participant ?? contact.name);
}

/** Above a message: the one that it answers, which a click shows. */
export function Quote({
  item,
  contact,
  isOurs,
  show,
}: {
  item: ThreadItem | undefined;
  contact: Contact;
  /** Whether the message that answers is ours. */
  isOurs: boolean;
  show: () => void;
}) {
  const { t } = useLingui();
  const writer = useWriter(contact);
  return (
    <button
      type="button"
      title={t`Show the message that this one answers`}
      onClick={show}
      className={classes(
        'flex max-w-full items-center gap-1.5 rounded-xl border border-line px-2.5 py-1 text-left text-xs text-muted hover:bg-hover hover:text-ink',
        isOurs ? 'self-end' : 'self-start',
      )}
    >
      <CornerUpLeft className="size-3.5 shrink-0" aria-hidden="true" />
      <span className="sr-only">
        <Trans>Answers</Trans>
      </span>
      {item && <span className="max-w-28 shrink-0 truncate font-medium">{writer(item)}</span>}
      <span className="truncate">
        <Quoted item={item} />
      </span>
    </button>
  );
}
