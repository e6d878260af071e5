import { useLingui } from '@lingui/react/macro';
import { TextQuote } from 'lucide-react';
import type { RefObject } from 'react';
import { useRead } from '#console/api/queries.ts';
import { IconButton } from '#console/components/button.tsx';
import { Menu } from '#console/components/menu.tsx';

/** Inserts a snippet. Its variables are filled in when the message is sent. */
export function SnippetsMenu({
  button,
  box,
  insert,
}: {
  button: RefObject<HTMLButtonElement | null>;
  /** Where it is inserted. */
  box: RefObject<HTMLTextAreaElement | null>;
  insert: (text: string) => void;
}) {
  const { t } = useLingui();
  const { data } = useRead('GET /api/snippets', { query: { limit: 200 } });
  const snippets = data?.snippets ?? [];
  if (snippets.length === 0) return null;
  return (
    <Menu
      side="top"
      focusAfter={box}
      trigger={
        <IconButton label={t`Insert a snippet`} ref={button}>
          <TextQuote className="size-4" aria-hidden="true" />
        </IconButton>
      }
      groups={[
        {
          title: t`Snippets`,
          items: snippets.map(({ name, text }) => ({ label: name, onSelect: () => insert(text) })),
        },
      ]}
    />
  );
}
