import { useLingui } from '@lingui/react/macro';
import { FileText } from 'lucide-react';
import { useState } from 'react';
import { AudioPlayer } from '#console/components/audio-player.tsx';
import { bytesOf } from '#console/lib/format.ts';
import type { ThreadItem } from './conversations.ts';

type File = ThreadItem['attachments'][number];
type Kind = 'image' | 'audio' | 'video' | 'file';

const KINDS: [RegExp, Kind][] = [
  [/\.(png|jpe?g|gif|webp|avif)$/i, 'image'],
  [/\.(mp3|m4a|aac|wav|ogg|opus|caf|amr)$/i, 'audio'],
  [/\.(mp4|mov|webm|m4v)$/i, 'video'],
];

/** By its type; a carrier that tells none names the file. */
function kindOf({ contentType, name }: File): Kind {
  const general = contentType?.split('/')[0];
  if (general === 'image' || general === 'audio' || general === 'video') return general;
  return KINDS.find(([pattern]) => pattern.test(name))?.[1] ?? 'file';
}

/** Shows pictures, voice notes and films in place; other files, and those that the browser cannot play, as links. */
export function Attachment({ file, isVoiceNote }: { file: File; isVoiceNote: boolean }) {
  const { t } = useLingui();
  const [broken, setBroken] = useState(false);
  const kind = broken ? 'file' : kindOf(file);
  const fail = (): void => setBroken(true);
  const { url, name } = file;
  if (kind === 'image') {
    return (
      <a href={url} target="_blank" rel="noopener noreferrer" className="block">
        <img
          src={url}
          alt={name}
          loading="lazy"
          onError={fail}
          className="max-h-64 max-w-full rounded-xl border border-line object-contain"
        />
      </a>
    );
  }
  if (kind === 'audio') {
    return (
      <AudioPlayer url={url} label={isVoiceNote ? t`Voice note ${name}` : t`Audio ${name}`} onError={fail} />
    );
  }
  if (kind === 'video') {
    return (
      <video
        controls
        preload="metadata"
        src={url}
        onError={fail}
        aria-label={name}
        className="max-h-64 max-w-full rounded-xl"
      />
    );
  }
  return <FileLink file={file} />;
}

/** Its name, its type and its size. */
function FileLink({ file: { url, name, contentType, size } }: { file: File }) {
  const extension = /\.(\w{1,5})$/.exec(name)?.[1]?.toUpperCase();
  const about = [extension ?? contentType, size !== null && bytesOf(size)].filter(Boolean).join(' · ');
  return (
    <a
      href={url}
      target="_blank"
      rel="noopener noreferrer"
      className="flex max-w-full items-center gap-2.5 rounded-xl border border-line bg-surface px-3 py-2 hover:bg-hover"
    >
      <FileText className="size-5 shrink-0 text-muted" aria-hidden="true" />
      <span className="min-w-0">
        <span className="block truncate">{name}</span>
        {about !== '' && <span className="block truncate text-xs text-muted">{about}</span>}
      </span>
    </a>
  );
}
