import { useUnsent } from '#console/lib/unsent.ts';

/** What somebody has made of a draft. It outlives the draft, which ends when the contact writes again or a colleague decides. */
interface DraftEdit {
  replyId: string;
  text: string;
}

/** The edit of the draft to a contact. */
export function useDraftEdit(address: string): {
  edit: DraftEdit | null;
  change: (edit: DraftEdit | null) => void;
} {
  const { text, change } = useUnsent(`draft ${address}`);
  const [replyId = '', ...words] = text?.split(' ') ?? [];
  return {
    edit: text === null ? null : { replyId, text: words.join(' ') },
    change: (edit) => change(edit && `${edit.replyId} ${edit.text}`),
  };
}
