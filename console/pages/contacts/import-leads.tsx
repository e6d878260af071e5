import { Trans, useLingui } from '@lingui/react/macro';
import { type FormEvent, useRef, useState } from 'react';
import { addressOf, send } from '#console/api/client.ts';
import { Button } from '#console/components/button.tsx';
import { Dialog } from '#console/components/dialog.tsx';
import {
  Field,
  FormError,
  generalErrorOf,
  issueOf,
  SelectField,
  TextField,
} from '#console/components/field.tsx';
import { type CsvStart, readCsvStart, renameColumns } from '#console/lib/csv-start.ts';
import { ColumnMapping, hasAddresses } from './column-mapping.tsx';
import type { LeadList } from './lead.ts';

const FORM = 'import-leads';

/** Uploads a CSV file, which is read in the background (`ImportProgress`). */
export function ImportLeads({
  lists,
  listId,
  close,
  onStarted,
}: {
  lists: readonly LeadList[];
  listId: string;
  close: () => void;
  onStarted: (listId: string, importId: string) => void;
}) {
  const { t } = useLingui();
  const [target, setTarget] = useState(listId || (lists[0]?._id ?? ''));
  const [code, setCode] = useState('');
  const [file, setFile] = useState<File>();
  const [start, setStart] = useState<CsvStart | null>(null);
  const [names, setNames] = useState<readonly string[]>([]);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  // Every retry of this import has the same key.
  const key = useRef(crypto.randomUUID());

  const choose = async (chosen: File | undefined): Promise<void> => {
    const read = chosen ? await readCsvStart(chosen) : null;
    setFile(chosen);
    setStart(read);
    setNames(read?.header ?? []);
  };
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (!file) return;
    setBusy(true);
    try {
      const query = { defaultCountryCode: code.trim() };
      const response = await send('POST', addressOf('/api/lists/{id}/import', { id: target }, query), {
        headers: { 'Content-Type': 'text/csv', 'Idempotency-Key': key.current },
        body: start ? renameColumns(file, start, names) : file,
      });
      const { importId } = (await response.json()) as { importId: string };
      close();
      onStarted(target, importId);
    } catch (failure) {
      key.current = crypto.randomUUID();
      setError(failure);
      setBusy(false);
    }
  };
  return (
    <Dialog
      open
      onClose={close}
      title={t`Import leads`}
      description={t`From a CSV file of up to 100 MB whose first row names the columns.`}
      footer={
        <Button
          kind="primary"
          type="submit"
          form={FORM}
          busy={busy}
          disabled={!file || (start !== null && !hasAddresses(names))}
        >
          <Trans>Import</Trans>
        </Button>
      }
    >
      <form id={FORM} className="flex flex-col gap-4" onSubmit={(event) => void submit(event)}>
        <Field label={t`CSV file`}>
          {(control) => (
            <input
              {...control}
              type="file"
              accept=".csv,text/csv"
              className="input-box"
              onChange={(event) => void choose(event.target.files?.[0])}
            />
          )}
        </Field>
        {start && <ColumnMapping start={start} names={names} onChange={setNames} />}
        <SelectField
          label={t`List`}
          value={target}
          options={lists.map(({ _id, name }) => ({ value: _id, label: name }))}
          onChange={(event) => setTarget(event.target.value)}
        />
        <TextField
          label={t`Country code (optional)`}
          placeholder="+1"
          inputMode="tel"
          hint={t`For phone numbers without one. Default: the country of the workspace.`}
          value={code}
          onChange={(event) => setCode(event.target.value)}
          error={issueOf(error, 'defaultCountryCode')}
        />
        <FormError>{generalErrorOf(error, ['defaultCountryCode'])}</FormError>
      </form>
    </Dialog>
  );
}
