import { Paperclip, SendHorizontal, X } from 'lucide-react';
import { type ChangeEvent, useRef, useState } from 'react';
import { send } from '#console/api/client.ts';
import { useWrite } from '#console/api/queries.ts';
import { onSessionChange } from '#console/api/session.ts';
import { Button, IconButton } from '#console/components/button.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { useShortcuts } from '#console/lib/shortcuts.ts';
import { REFRESH } from './conversations.ts';
import { takeBack } from './draft-card.tsx';

const MOST_FILES = 2;

interface UploadedFile {
  url: string;
  name: string;
}

async function upload(file: File): Promise<UploadedFile> {
  const body = new FormData();
  body.append('file', file);
  const response = await send('POST', '/api/attachments/upload', { body });
  return (await response.json()) as UploadedFile;
}

/** What was written and not sent, by conversation, until the tab is closed or shows another workspace. */
const unsent = new Map<string, string>();
onSessionChange(() => unsent.clear());

export function ReplyBox({ address, optedOut }: { address: string; optedOut: boolean }) {
  const [text, setText] = useState(unsent.get(address) ?? '');
  const [files, setFiles] = useState<UploadedFile[]>([]);
  const [uploading, setUploading] = useState(false);
  const box = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const reply = useWrite('POST /api/inbox/send-reply', { refresh: REFRESH });
  useShortcuts({ r: () => box.current?.focus() });

  const change = (next: string): void => {
    setText(next);
    unsent.set(address, next);
  };
  const attach = async ({ target }: ChangeEvent<HTMLInputElement>): Promise<void> => {
    setUploading(true);
    try {
      const chosen = [...(target.files ?? [])].slice(0, MOST_FILES - files.length);
      const uploaded = await Promise.all(chosen.map(upload));
      setFiles([...files, ...uploaded]);
    } catch (error) {
      toastError(error);
    } finally {
      setUploading(false);
      target.value = '';
    }
  };
  const canSend = (text.trim() !== '' || files.length > 0) && !uploading;
  const submit = (): void => {
    if (!canSend || reply.isPending) return;
    reply.mutate(
      {
        body: {
          ...(address.includes('@') ? { email: address } : { phone: address }),
          ...(text.trim() !== '' && { message: text }),
          ...(files.length > 0 && { attachmentUrls: files.map(({ url }) => url) }),
        },
      },
      {
        onSuccess: ({ _id }) => {
          change('');
          setFiles([]);
          toast('The reply is on its way', { undo: () => void takeBack(_id) });
        },
        onError: toastError,
      },
    );
  };

  if (optedOut) {
    return (
      <p className="px-1 py-2 text-muted">
        This contact has opted out of messages, so nothing can be sent to them.
      </p>
    );
  }
  return (
    <form
      aria-label="Reply"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <textarea
        ref={box}
        aria-label="Reply"
        placeholder="Write a reply"
        rows={2}
        className="input-box field-sizing-content max-h-48 min-h-14 resize-none"
        value={text}
        onChange={(event) => change(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit();
          if (event.key === 'Escape') box.current?.blur();
        }}
      />
      <div className="mt-2 flex items-center gap-2">
        <IconButton
          label="Attach files"
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
          aria-label="Files to attach"
          onChange={(event) => void attach(event)}
        />
        <ul className="flex min-w-0 flex-1 gap-2 overflow-hidden">
          {files.map(({ url, name }) => (
            <li key={url} className="flex min-w-0 items-center gap-1 rounded-lg bg-hover py-0.5 pl-2">
              <span className="truncate">{name}</span>
              <IconButton
                label={`Remove ${name}`}
                className="size-6"
                onClick={() => setFiles(files.filter((file) => file.url !== url))}
              >
                <X className="size-3.5" aria-hidden="true" />
              </IconButton>
            </li>
          ))}
        </ul>
        <span className="hidden text-xs text-muted sm:inline">Ctrl Enter</span>
        <Button
          kind="primary"
          type="submit"
          busy={reply.isPending || uploading}
          disabled={!canSend}
          icon={<SendHorizontal className="size-4" aria-hidden="true" />}
        >
          Send
        </Button>
      </div>
    </form>
  );
}
