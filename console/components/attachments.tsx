import { useLingui } from '@lingui/react/macro';
import { Paperclip, X } from 'lucide-react';
import { type ChangeEvent, useRef, useState } from 'react';
import { send } from '#console/api/client.ts';
import { IconButton } from './button.tsx';
import { toastError } from './toast.tsx';

/** The most files that a message may have. */
const MOST_FILES = 2;

export interface UploadedFile {
  url: string;
  name: string;
}

export type FilesUpdate = (files: UploadedFile[]) => UploadedFile[];

async function upload(file: File): Promise<UploadedFile> {
  const body = new FormData();
  body.append('file', file);
  const response = await send('POST', '/api/attachments/upload', { body });
  return (await response.json()) as UploadedFile;
}

/** The files of a message: a button that uploads some, and their names. */
export function Attachments({
  files,
  onChange,
  onBusy,
}: {
  files: readonly UploadedFile[];
  /** Called with what becomes of the files at that time, since an upload takes a while. */
  onChange: (update: FilesUpdate) => void;
  /** Called with true while files are being uploaded, then with false. */
  onBusy: (busy: boolean) => void;
}) {
  const { t } = useLingui();
  const [uploading, setUploading] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  const busy = (now: boolean): void => {
    setUploading(now);
    onBusy(now);
  };
  const attach = async ({ target }: ChangeEvent<HTMLInputElement>): Promise<void> => {
    busy(true);
    try {
      const chosen = [...(target.files ?? [])].slice(0, MOST_FILES - files.length);
      const uploaded = await Promise.all(chosen.map(upload));
      onChange((current) => [...current, ...uploaded]);
    } catch (error) {
      toastError(error);
    } finally {
      busy(false);
      target.value = '';
    }
  };
  return (
    <>
      <IconButton
        label={t`Attach files`}
        disabled={uploading || files.length >= MOST_FILES}
        onClick={() => picker.current?.click()}
      >
        <Paperclip className="size-4" aria-hidden="true" />
      </IconButton>
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        aria-label={t`Files to attach`}
        onChange={(event) => void attach(event)}
      />
      <ul className="flex min-w-0 flex-1 gap-2 overflow-hidden">
        {files.map(({ url, name }) => (
          <li key={url} className="flex min-w-0 items-center gap-1 rounded-lg bg-hover py-0.5 pl-2">
            <span className="truncate">{name}</span>
            <IconButton
              label={t`Remove ${name}`}
              className="size-6"
              onClick={() => onChange((current) => current.filter((file) => file.url !== url))}
            >
              <X className="size-3.5" aria-hidden="true" />
            </IconButton>
          </li>
        ))}
      </ul>
    </>
  );
}
