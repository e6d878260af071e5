import { t } from '@lingui/core/macro';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useEffect } from 'react';
import { request } from '#console/api/client.ts';
import { onReply, type ReplyEvent } from '#console/api/live.ts';
import { useIdentity } from '#console/api/workspace.ts';
import { notifies, useNotifies } from '#console/lib/desktop-notifications.ts';
import { addressName } from '#console/lib/format.ts';

/** Older events come from an interrupted stream; a notification of each would be a nuisance. */
const RECENT_MS = 5 * 60_000;
const MOST_LETTERS = 200;

/**
 * Shows a notification of the desktop when a contact writes: in conversations that are the user's or nobody's, and not in
 * one that a focused tab shows. Of all tabs of the browser one does it: the one that follows the events.
 */
export function useDesktopNotifications(): void {
  const { workspace, caller } = useIdentity();
  const isOn = useNotifies();
  const navigate = useNavigate();
  const userId = caller.type === 'user' ? caller.id : null;
  useShownConversation(workspace._id);

  useEffect(() => {
    if (!isOn) return undefined;
    const ending = new AbortController();
    const { signal } = ending;
    const show = async (event: ReplyEvent): Promise<void> => {
      const { reply } = event.data;
      const address = reply.recipientPhone ?? reply.recipientEmail;
      if (address === null || Date.now() - Date.parse(event.timestamp) > RECENT_MS || !notifies()) return;
      if (await isShown(workspace._id, address)) return;
      const { conversation } = await request('GET /api/conversations/{address}', {
        params: { address },
        query: { limit: 1 },
      });
      const { assigneeId, name } = conversation;
      if (signal.aborted || (assigneeId !== null && assigneeId !== userId)) return;
      const notification = new Notification(addressName(name), {
        body: event.message.slice(0, MOST_LETTERS) || t`Sent a file`,
        // The next one of the conversation replaces it.
        tag: `${workspace._id} ${address}`,
      });
      notification.addEventListener('click', () => {
        window.focus();
        notification.close();
        void navigate({ to: '/inbox/{-$address}', params: { address } });
      });
    };
    // A failed notification is ignored, because the message is in the inbox.
    const stop = onReply((event) => void show(event).catch(() => null));
    return () => {
      stop();
      ending.abort();
    };
  }, [isOn, workspace._id, userId, navigate]);
}

/** While the tab is focused, a lock tells the other tabs which conversation it shows. */
function useShownConversation(workspaceId: string): void {
  const { address } = useParams({ strict: false });
  useEffect(() => {
    if (address === undefined || !('locks' in navigator)) return undefined;
    let focused = new AbortController();
    const look = (): void => {
      focused.abort();
      if (!document.hasFocus()) return;
      focused = new AbortController();
      const { signal } = focused;
      void navigator.locks.request(lockOf(workspaceId, address), { mode: 'shared' }, () => aborted(signal));
    };
    look();
    window.addEventListener('focus', look);
    window.addEventListener('blur', look);
    return () => {
      window.removeEventListener('focus', look);
      window.removeEventListener('blur', look);
      focused.abort();
    };
  }, [workspaceId, address]);
}

const lockOf = (workspaceId: string, address: string): string => `linepace shows ${workspaceId} ${address}`;

async function isShown(workspaceId: string, address: string): Promise<boolean> {
  const { held } = await navigator.locks.query();
  return held?.some(({ name }) => name === lockOf(workspaceId, address)) ?? false;
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
