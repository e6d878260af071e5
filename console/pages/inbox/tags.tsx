import { useWrite } from '#console/api/queries.ts';
import { TagList } from '#console/components/tag-list.tsx';
import { toastError } from '#console/components/toast.tsx';
import { REFRESH } from './conversations.ts';

/** Those that count as positive in analytics. */
const SUGGESTED = ['interested', 'to respond'];

export function Tags({ address, tags }: { address: string; tags: readonly string[] }) {
  const save = useWrite('POST /api/conversations/{address}/tags', { refresh: REFRESH });
  const set = (next: readonly string[]): void =>
    save.mutate({ params: { address }, body: { tags: [...next] } }, { onError: toastError });
  return (
    <TagList
      tags={tags}
      suggested={SUGGESTED}
      // With those at the moment of the removal, when it is undone.
      add={(tag) => set([...tags.filter((other) => other !== tag), tag])}
      remove={(tag) => set(tags.filter((other) => other !== tag))}
      className="justify-end"
    />
  );
}
