import { useWrite } from '#console/api/queries.ts';
import { TagList } from '#console/components/tag-list.tsx';
import { toastError } from '#console/components/toast.tsx';
import type { Lead } from './lead.ts';

const OPTIONS = { refresh: ['GET /api/leads', 'GET /api/leads/{id}'] } as const;

/** The tags by which campaigns, segments and rules know a lead. */
export function LeadTags({ lead: { _id, tags } }: { lead: Lead }) {
  const add = useWrite('POST /api/leads/{id}/tags', OPTIONS);
  const remove = useWrite('DELETE /api/leads/{id}/tags', OPTIONS);
  const params = { id: _id };
  return (
    <TagList
      tags={tags}
      add={(tag) => add.mutate({ params, body: { tags: [tag] } }, { onError: toastError })}
      remove={(tag) => remove.mutate({ params, body: { tags: [tag] } }, { onError: toastError })}
    />
  );
}
