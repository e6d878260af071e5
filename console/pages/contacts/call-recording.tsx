import { Trans, useLingui } from '@lingui/react/macro';
import { useState } from 'react';
import { AudioPlayer } from '#console/components/audio-player.tsx';

/** Plays the recording of a call, or links to it if the browser cannot. */
export function CallRecording({ url }: { url: string }) {
  const { t } = useLingui();
  const [broken, setBroken] = useState(false);
  return broken ? (
    <a href={url} target="_blank" rel="noopener noreferrer" className="text-accent-ink hover:underline">
      <Trans>Download the recording</Trans>
    </a>
  ) : (
    <AudioPlayer url={url} label={t`Recording of the call`} onError={() => setBroken(true)} />
  );
}
