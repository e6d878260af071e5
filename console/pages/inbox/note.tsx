import { useLingui } from '@lingui/react/macro';
import type { ResponseOf } from '#console/api/routes.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { fullTimeOf, timeOf } from '#console/lib/format.ts';

export type Note = ResponseOf<'GET /api/conversations/{address}/notes'>['notes'][number];

/** The text of a note with the names of those whom it mentions. */
export const shownText = ({ text, mentions }: Note): string =>
  mentions.reduce((said, { userId, name }) => said.replaceAll(`@[${userId}]`, `@${name || userId}`), text);

/** A note of the team, among the messages. */
export function NoteItem({ note }: { note: Note }) {
  const { t } = useLingui();
  const zone = useTimeZone();
  const { author, createdAt } = note;
  return (
    <section
      aria-label={t`Note`}
      className="w-full max-w-[80%] self-center rounded-xl border border-line bg-warn-soft px-3.5 py-2"
    >
      <p className="break-words whitespace-pre-wrap">{shownText(note)}</p>
      <p className="mt-1 text-xs text-muted">
        {author.name ?? t`A colleague`},{' '}
        <time dateTime={createdAt} title={fullTimeOf(createdAt, zone)}>
          {timeOf(createdAt, zone)}
        </time>
      </p>
    </section>
  );
}
