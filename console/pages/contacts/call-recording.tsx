import { useState } from 'react';
import { AudioPlayer } from '#console/components/audio-player.tsx';

/** Plays the recording of a call, or links to it if the browser cannot. */
export function CallRecording({ url }: { url: string }) {
  const [broken, setBroken] = useState(false);
  return broken ? (
    <a href={url} target="_blank" rel="noopener noreferrer" className="text-accent-ink hover:underline">
      Download the recording
    </a>
  ) : (
    <AudioPlayer url={url} label="Recording of the call" onError={() => setBroken(true)} />
  );
}
