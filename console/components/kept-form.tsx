import type { ComponentProps } from 'react';
import type { Edits } from '#console/lib/unsent.ts';
import { KeptNote } from './kept-note.tsx';

/**
 * A form of what `useEdits` keeps: it says when that is there again, and a dialog around it closes without a question.
 * @param noted where another place says it. Default: above the fields.
 */
export const KeptForm = ({
  edits,
  noted = false,
  children,
  ...form
}: ComponentProps<'form'> & {
  edits: Pick<Edits<never>, 'isKept' | 'discard'>;
  noted?: boolean;
}) => (
  <form {...form} data-kept>
    {edits.isKept && !noted && <KeptNote discard={edits.discard} />}
    {children}
  </form>
);
