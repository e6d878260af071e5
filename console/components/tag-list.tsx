import { useLingui } from '@lingui/react/macro';
import { Plus, X } from 'lucide-react';
import { type KeyboardEvent, useId, useState } from 'react';
import { IconButton } from './button.tsx';
import { classes } from './class-names.ts';
import { toast } from './toast.tsx';

/** Tags that can be added and removed. */
export function TagList({
  tags,
  suggested,
  add,
  remove,
  className,
}: {
  tags: readonly string[];
  suggested?: readonly string[];
  add: (tag: string) => void;
  remove: (tag: string) => void;
  className?: string;
}) {
  const { t } = useLingui();
  const id = useId();
  const [adding, setAdding] = useState(false);
  const listen = (event: KeyboardEvent<HTMLInputElement>): void => {
    const tag = event.currentTarget.value.trim();
    if (event.key === 'Escape') setAdding(false);
    if (event.key !== 'Enter' || tag === '') return;
    add(tag);
    setAdding(false);
  };
  return (
    <ul aria-label={t`Tags`} className={classes('flex flex-wrap items-center gap-1.5', className)}>
      {tags.map((tag) => (
        <li key={tag} className="flex items-center rounded-md bg-hover pl-2 text-xs">
          {tag}
          <IconButton
            label={t`Remove the tag ${tag}`}
            className="size-6"
            onClick={() => {
              remove(tag);
              toast(t`Removed “${tag}”`, { undo: () => add(tag) });
            }}
          >
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
              list={id}
              maxLength={50}
              className="input-box w-32 py-0.5 text-xs"
              onKeyDown={listen}
              onBlur={() => setAdding(false)}
            />
            <datalist id={id}>
              {suggested
                ?.filter((tag) => !tags.includes(tag))
                .map((tag) => (
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
