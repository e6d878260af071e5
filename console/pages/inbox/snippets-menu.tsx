import { useLingui } from '@lingui/react/macro';
import { Plus, TextQuote } from 'lucide-react';
import { lazy, type RefObject, Suspense, useEffect, useState } from 'react';
import { useRead } from '#console/api/queries.ts';
import { IconButton } from '#console/components/button.tsx';
import { loadMenu, Menu } from '#console/components/menu.tsx';

const Snippets = lazy(() => import('./snippets.tsx'));

/** At the start of a word it opens the menu, and is replaced by what is chosen. */
const SHORTHAND = /(?:^|\s)\/$/;
const beforeCursor = ({ value, selectionStart }: HTMLTextAreaElement): string =>
  value.slice(0, selectionStart);

/** Inserts a snippet, whose variables are filled in when the message is sent; and makes and changes snippets. */
export function SnippetsMenu({
  button,
  box,
  insert,
  written,
}: {
  button: RefObject<HTMLButtonElement | null>;
  /** Where it is inserted. */
  box: RefObject<HTMLTextAreaElement | null>;
  insert: (text: string) => void;
  /** What a new snippet begins with. */
  written: string;
}) {
  const { t } = useLingui();
  const { data } = useRead('GET /api/snippets', { query: { limit: 200 } });
  const snippets = data?.snippets ?? [];
  const [isManaging, setManaging] = useState(false);
  const isEmpty = snippets.length === 0;
  useEffect(() => {
    const field = box.current;
    if (isEmpty || !field) return undefined;
    void loadMenu();
    const listen = ({ inputType }: InputEvent): void => {
      if (inputType === 'insertText' && SHORTHAND.test(beforeCursor(field))) button.current?.click();
    };
    field.addEventListener('input', listen as EventListener);
    return () => field.removeEventListener('input', listen as EventListener);
  }, [isEmpty, box, button]);
  const choose = (text: string): void => {
    const field = box.current;
    if (field && SHORTHAND.test(beforeCursor(field)))
      field.setSelectionRange(field.selectionStart - 1, field.selectionEnd);
    insert(text);
  };
  return (
    <>
      <Menu
        side="top"
        {...(!isManaging && { focusAfter: box })}
        trigger={
          <IconButton label={t`Insert a snippet`} ref={button}>
            <TextQuote className="size-4" aria-hidden="true" />
          </IconButton>
        }
        groups={[
          ...(snippets.length > 0
            ? [
                {
                  title: t`Snippets`,
                  items: snippets.map(({ name, text }) => ({ label: name, onSelect: () => choose(text) })),
                },
              ]
            : []),
          {
            items: [
              {
                label: snippets.length > 0 ? t`Add or change snippets` : t`Add a snippet`,
                icon: <Plus className="size-4" aria-hidden="true" />,
                onSelect: () => setManaging(true),
              },
            ],
          },
        ]}
      />
      {isManaging && (
        <Suspense fallback={null}>
          <Snippets snippets={snippets} written={written} close={() => setManaging(false)} />
        </Suspense>
      )}
    </>
  );
}
