import { Search } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { useShortcuts } from '#console/lib/shortcuts.ts';

/** Most texts have one or two letters: whoever goes on typing does not want them all. */
const BROAD = { length: 2, pauseMs: 250 };

/** A search field with the shortcut `/`. It searches when the user pauses typing, for `pauseMs`. */
export function SearchBox({
  label,
  value,
  onChange,
  pauseMs = 250,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
  pauseMs?: number;
}) {
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(value);
  const change = useRef(onChange);
  useEffect(() => {
    change.current = onChange;
  });
  useEffect(() => {
    if (text.trim() === value) return undefined;
    const searched = text.trim();
    const isBroad = searched.length > 0 && searched.length <= BROAD.length;
    const timer = setTimeout(
      () => change.current(searched),
      isBroad ? Math.max(pauseMs, BROAD.pauseMs) : pauseMs,
    );
    return () => clearTimeout(timer);
  }, [text, value, pauseMs]);
  useShortcuts({ '/': () => input.current?.focus() });
  return (
    <div className="relative min-w-0 flex-1">
      <Search
        className="pointer-events-none absolute top-1/2 left-3 size-4 -translate-y-1/2 text-muted"
        aria-hidden="true"
      />
      <input
        ref={input}
        type="search"
        aria-label={label}
        placeholder={label}
        maxLength={200}
        className="input-box pl-9"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
    </div>
  );
}
