import { useLingui } from '@lingui/react/macro';
import { Pause, Play } from 'lucide-react';
import { type CSSProperties, type KeyboardEvent, useRef, useState } from 'react';
import { clockOf } from '#console/lib/format.ts';

const SPEEDS = [1, 1.5, 2];
const SKIP_SECONDS = 5;

/** The player that plays. Starting another one pauses it. */
let playing: HTMLAudioElement | null = null;

/**
 * Plays a voice note or a recording: play and pause, position, speed. In it, the space bar plays and pauses, and the left
 * and right arrows skip five seconds.
 * @param label the accessible name.
 * @param onError called if the browser cannot play it.
 */
export function AudioPlayer({ url, label, onError }: { url: string; label: string; onError: () => void }) {
  const { t } = useLingui();
  const audio = useRef<HTMLAudioElement>(null);
  const [isPlaying, setPlaying] = useState(false);
  const [position, setPosition] = useState(0);
  /** Seconds; unknown until the browser has read the file's header, and of some recordings until they end. */
  const [duration, setDuration] = useState<number | null>(null);
  const [speed, setSpeed] = useState(1);

  const toggle = (): void => {
    const element = audio.current;
    if (!element) return;
    if (!element.paused) return element.pause();
    element.play().catch((error: unknown) => {
      // Another player, started at the same moment, has paused it.
      if (!(error instanceof Error && error.name === 'AbortError')) onError();
    });
  };
  const seek = (seconds: number): void => {
    const element = audio.current;
    if (!element) return;
    element.currentTime = Math.max(0, Math.min(seconds, duration ?? seconds));
    setPosition(element.currentTime);
  };
  const setNextSpeed = (): void => {
    const next = SPEEDS[(SPEEDS.indexOf(speed) + 1) % SPEEDS.length] ?? 1;
    if (audio.current) audio.current.playbackRate = next;
    setSpeed(next);
  };
  const keys: Record<string, () => void> = {
    ' ': toggle,
    ArrowLeft: () => seek(position - SKIP_SECONDS),
    ArrowRight: () => seek(position + SKIP_SECONDS),
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const act = keys[event.key];
    // A button acts on the space bar by itself.
    if (!act || (event.key === ' ' && event.target instanceof HTMLButtonElement)) return;
    event.preventDefault();
    act();
  };
  const at = clockOf(position);
  const end = duration === null ? null : clockOf(duration);
  return (
    // The keys are those of the controls in it.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <div
      role="group"
      aria-label={label}
      onKeyDown={onKeyDown}
      className="flex h-11 w-72 max-w-full items-center gap-2 rounded-full border border-line bg-surface pr-2 pl-1.5 text-ink"
    >
      <audio
        ref={audio}
        src={url}
        preload="metadata"
        onLoadedMetadata={({ currentTarget }) => setDuration(finite(currentTarget.duration))}
        onDurationChange={({ currentTarget }) => setDuration(finite(currentTarget.duration))}
        onTimeUpdate={({ currentTarget }) => setPosition(currentTarget.currentTime)}
        onPlay={({ currentTarget }) => {
          if (playing !== currentTarget) playing?.pause();
          playing = currentTarget;
          setPlaying(true);
        }}
        onPause={() => setPlaying(false)}
        onEnded={() => seek(0)}
        onError={onError}
      />
      <button
        type="button"
        aria-label={isPlaying ? t`Pause` : t`Play`}
        onClick={toggle}
        className="flex size-8 shrink-0 items-center justify-center rounded-full bg-accent text-white hover:bg-accent-hover"
      >
        {isPlaying ? (
          <Pause className="size-4 fill-current" aria-hidden="true" />
        ) : (
          <Play className="ml-0.5 size-4 fill-current" aria-hidden="true" />
        )}
      </button>
      <input
        type="range"
        aria-label={t`Position`}
        aria-valuetext={end === null ? at : t`${at} of ${end}`}
        min={0}
        max={duration ?? Math.max(position, 1)}
        step={0.1}
        value={position}
        onChange={({ target }) => seek(Number(target.value))}
        style={{ '--played': `${(100 * position) / Math.max(duration ?? position, 0.1)}%` } as CSSProperties}
        className="track min-w-0 flex-1"
      />
      <span className="shrink-0 text-xs text-muted tabular-nums" aria-hidden="true">
        {at}
        {end !== null && ` / ${end}`}
      </span>
      <button
        type="button"
        aria-label={t`Speed ${speed}×`}
        onClick={setNextSpeed}
        className="h-6 w-9 shrink-0 rounded-md text-xs font-medium text-muted tabular-nums hover:bg-hover hover:text-ink"
      >
        {speed}×
      </button>
    </div>
  );
}

const finite = (seconds: number): number | null => (Number.isFinite(seconds) ? seconds : null);
