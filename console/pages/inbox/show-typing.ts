import { useEffect, useState } from 'react';
import { request, serverTime } from '#console/api/client.ts';
import type { Line } from '#console/lib/line.ts';
import { decidingNow } from '#console/lib/workspace-time.ts';
import { isGroup } from './conversations.ts';

/** The API shows it to who has written within 5 minutes, for 30 seconds. */
const WITHIN_MS = 290_000;
const LASTS_MS = 30_000;
const REPEAT_MS = 20_000;

interface ShownTyping {
  /** Called with what is written, when somebody has typed. */
  typed(text: string): void;
  /** Called when they are done, or leave. */
  stop(): void;
}

function showTyping(address: string): { typed(text: string, canShow: boolean): void; stop(): void } {
  let shownAt = Number.NEGATIVE_INFINITY;
  let isRefused = false;
  /** One after the other, so that the last one counts. */
  let told: Promise<unknown> = Promise.resolve();
  const tell = (state: 'on' | 'off'): void => {
    const send = () =>
      request('POST /api/conversations/{address}/typing', { params: { address }, body: { state } });
    told = told.then(send).catch(() => {
      isRefused = true;
    });
  };
  const stop = (): void => {
    if (performance.now() - shownAt < LASTS_MS) tell('off');
    shownAt = Number.NEGATIVE_INFINITY;
  };
  return {
    stop,
    typed(text, canShow) {
      if (text.trim() === '') return stop();
      if (isRefused || !canShow || performance.now() - shownAt < REPEAT_MS) return;
      shownAt = performance.now();
      tell('on');
    },
  };
}

/** Shows a contact that somebody writes to them, where their phone can. If that fails, nobody needs to know. */
export function useShowTyping(
  address: string,
  { line, lastInboundAt }: { line: Line | undefined; lastInboundAt: string | null },
): ShownTyping {
  const [{ typed, stop }] = useState(() => showTyping(address));
  useEffect(() => stop, [stop]);
  const canShow = (): boolean =>
    !isGroup(address) &&
    line?.capabilities.includes('typing') === true &&
    lastInboundAt !== null &&
    decidingNow(serverTime()).getTime() - Date.parse(lastInboundAt) < WITHIN_MS;
  return { typed: (text) => typed(text, canShow()), stop };
}
