import { FileText } from 'lucide-react';
import { useState } from 'react';

type Kind = 'image' | 'audio' | 'video' | 'file';

const KINDS: [RegExp, Kind][] = [
  [/\.(png|jpe?g|gif|webp|avif)$/i, 'image'],
  [/\.(mp3|m4a|aac|wav|ogg|opus|caf|amr)$/i, 'audio'],
  [/\.(mp4|mov|webm|m4v)$/i, 'video'],
];

const kindOf = (name: string): Kind => KINDS.find(([pattern]) => pattern.test(name))?.[1] ?? 'file';

/** Shows pictures, voice notes and films in place; other files, and those that the browser cannot play, as links. */
export function Attachment({ url, name }: { url: string; name: string }) {
  const [broken, setBroken] = useState(false);
  const kind = broken ? 'file' : kindOf(name);
  const fail = (): void => setBroken(true);
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
      <audio
        controls
        preload="metadata"
        src={url}
        onError={fail}
        aria-label={name}
        className="h-10 max-w-full"
      />
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
  return (
    <a
      href={url}
      target="_blank"
      rel="noopener noreferrer"
      className="flex max-w-full items-center gap-2 rounded-xl border border-line bg-surface px-3 py-2 hover:bg-hover"
    >
      <FileText className="size-4 shrink-0 text-muted" aria-hidden="true" />
      <span className="truncate">{name}</span>
    </a>
  );
}
