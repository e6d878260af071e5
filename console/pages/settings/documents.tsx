import { Trans, useLingui } from '@lingui/react/macro';
import { Plus, Trash2 } from 'lucide-react';
import type { ResponseOf } from '#console/api/routes.ts';
import { Button, IconButton } from '#console/components/button.tsx';
import { issueOf, TextAreaField, TextField } from '#console/components/field.tsx';
import { Card } from '#console/components/page.tsx';
import { EmptyState } from '#console/components/states.tsx';

type Document = ResponseOf<'GET /api/knowledge-base'>['documents'][number];

const MOST = 100;

/** The texts that the copilot answers from. They are saved with the form around them. */
export function Documents({
  documents,
  onChange,
  error,
}: {
  documents: readonly Document[];
  onChange: (documents: Document[]) => void;
  error: unknown;
}) {
  const { t } = useLingui();
  const change = (index: number, changes: Partial<Document>): void =>
    onChange(documents.map((document, at) => (at === index ? { ...document, ...changes } : document)));
  const add = (
    <Button
      small
      icon={<Plus className="size-4" aria-hidden="true" />}
      disabled={documents.length >= MOST}
      onClick={() => onChange([...documents, { title: '', text: '' }])}
    >
      <Trans>Add a document</Trans>
    </Button>
  );
  return (
    <Card title={t`Documents`} actions={add}>
      {documents.length === 0 && (
        <EmptyState title={t`No documents yet`}>
          <Trans>The copilot answers from these: prices, opening hours, frequent questions.</Trans>
        </EmptyState>
      )}
      <ul aria-label={t`Documents`} className="divide-y divide-line empty:hidden">
        {documents.map(({ title, text }, index) => {
          const number = index + 1;
          return (
            // By position: a document has no id.
            <li key={index} className="flex flex-col gap-3 p-4">
              <div className="flex items-start gap-2">
                <div className="min-w-0 flex-1">
                  <TextField
                    label={t`Title of document ${number}`}
                    required
                    maxLength={200}
                    value={title}
                    onChange={(event) => change(index, { title: event.target.value })}
                    error={issueOf(error, `documents.${index}.title`)}
                  />
                </div>
                <IconButton
                  label={t`Remove document ${number}`}
                  className="mt-6.5"
                  onClick={() => onChange(documents.filter((_, at) => at !== index))}
                >
                  <Trash2 className="size-4" aria-hidden="true" />
                </IconButton>
              </div>
              <TextAreaField
                label={t`Text of document ${number}`}
                className="min-h-28"
                value={text}
                onChange={(event) => change(index, { text: event.target.value })}
                error={issueOf(error, `documents.${index}.text`)}
              />
            </li>
          );
        })}
      </ul>
    </Card>
  );
}
