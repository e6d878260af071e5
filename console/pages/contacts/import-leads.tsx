import { Trans, useLingui } from '@lingui/react/macro';
import { type FormEvent, useRef, useState } from 'react';
import { addressOf, request, send } from '#console/api/client.ts';
import { refreshReads } from '#console/api/queries.ts';
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
const NEW_LIST = '';

/** As people write the code of a country: +49, 0049 or 49. */
const callingCode = (typed: string): string => typed.trim().replace(/^(?:00)?(?=[1-9]\d*$)/, '+');

/** Uploads a CSV file, which is read in the background (`ImportProgress`), into the list that is open or a new one. */
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
  const [target, setTarget] = useState(listId || NEW_LIST);
  const [name, setName] = useState('');
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
    if (chosen && name === '') setName(chosen.name.replace(/\.csv$/i, ''));
  };
  /** The ID of the list; a new one is created only once, however often the import is tried. */
  const listed = async (): Promise<string> => {
    if (target !== NEW_LIST) return target;
    const { list } = await request('POST /api/lists', { body: { name } });
    await refreshReads(['GET /api/lists']);
    setTarget(list._id);
    return list._id;
  };
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (!file) return;
    setBusy(true);
    try {
      const id = await listed();
      const query = { defaultCountryCode: callingCode(code) };
      const response = await send('POST', addressOf('/api/lists/{id}/import', { id }, query), {
        headers: { 'Content-Type': 'text/csv', 'Idempotency-Key': key.current },
        body: start ? renameColumns(file, start, names) : file,
      });
      const { importId } = (await response.json()) as { importId: string };
      close();
      onStarted(id, importId);
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
          options={[
            { value: NEW_LIST, label: t`New list` },
            ...lists.map(({ _id: value, name: label }) => ({ value, label })),
          ]}
          onChange={(event) => setTarget(event.target.value)}
        />
        {target === NEW_LIST && (
          <TextField
            label={t`Name of the new list`}
            required
            maxLength={200}
            value={name}
            onChange={(event) => setName(event.target.value)}
            error={issueOf(error, 'name')}
          />
        )}
        <TextField
          label={t`Country code (optional)`}
          placeholder="+1"
          inputMode="tel"
          hint={t`For phone numbers without one. Default: the country of the workspace.`}
          value={code}
          onChange={(event) => setCode(event.target.value)}
          error={issueOf(error, 'defaultCountryCode')}
        />
        <FormError>
          {generalErrorOf(error, ['defaultCountryCode', ...(target === NEW_LIST ? ['name'] : [])])}
        </FormError>
      </form>
    </Dialog>
  );
}
