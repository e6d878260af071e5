import { useLingui } from '@lingui/react/macro';
import { Plus, X } from 'lucide-react';
import { type KeyboardEvent, useState } from 'react';
import { useWrite } from '#console/api/queries.ts';
import { IconButton } from '#console/components/button.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { REFRESH } from './conversations.ts';

/** Those that count as positive in analytics. */
const SUGGESTED = ['interested', 'to respond'];

export function Tags({ address, tags }: { address: string; tags: readonly string[] }) {
  const { t } = useLingui();
  const [adding, setAdding] = useState(false);
  const save = useWrite('POST /api/conversations/{address}/tags', { refresh: REFRESH });
  const set = (next: readonly string[]): void =>
    save.mutate({ params: { address }, body: { tags: [...next] } }, { onError: toastError });
  const remove = (tag: string): void => {
    set(tags.filter((other) => other !== tag));
    toast(t`Removed “${tag}”`, { undo: () => set(tags) });
  };
  const listen = (event: KeyboardEvent<HTMLInputElement>): void => {
    const tag = event.currentTarget.value.trim();
    if (event.key === 'Escape') setAdding(false);
    if (event.key !== 'Enter' || tag === '') return;
    set([...tags, tag]);
    setAdding(false);
  };
  return (
    <ul aria-label={t`Tags`} className="flex flex-wrap items-center justify-end gap-1.5">
      {tags.map((tag) => (
        <li key={tag} className="flex items-center rounded-md bg-hover pl-2 text-xs">
          {tag}
          <IconButton label={t`Remove the tag ${tag}`} className="size-6" onClick={() => remove(tag)}>
            <X className="size-3" aria-hidden="true" />
          </IconButton>
        </li>
      ))}
      <li>
        {adding ? (
          <>
            <input
              // Somebody has just asked for it.
              ref={(element) => element?.focus()}
              aria-label={t`New tag`}
              list="suggested-tags"
              maxLength={50}
              className="input-box w-32 py-0.5 text-xs"
              onKeyDown={listen}
              onBlur={() => setAdding(false)}
            />
            <datalist id="suggested-tags">
              {SUGGESTED.filter((tag) => !tags.includes(tag)).map((tag) => (
                <option key={tag}>{tag}</option>
              ))}
            </datalist>
          </>
        ) : (
          <IconButton label={t`Add a tag`} className="size-7" onClick={() => setAdding(true)}>
            <Plus className="size-4" aria-hidden="true" />
          </IconButton>
        )}
      </li>
    </ul>
  );
}
