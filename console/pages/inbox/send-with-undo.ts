import { t } from '@lingui/core/macro';
import { request, serverTime } from '#console/api/client.ts';
import { refreshReads } from '#console/api/queries.ts';
import { toast, toastError } from '#console/components/toast.tsx';
import { type Line, lineName, lineState } from '#console/lib/line.ts';
import { decidingNow } from '#console/lib/workspace-time.ts';
import { statusName } from '#console/lib/status-names.ts';
import { REFRESH } from './conversations.ts';
import { forgetSending } from './sending.ts';

/** How long a message waits that a person sends, so that it can be undone. */
const UNDO_MS = 6000;

/** The `scheduledDate` of a message that can be undone. */
export const sendAfterUndo = (): string =>
  new Date(decidingNow(serverTime()).getTime() + UNDO_MS).toISOString();

/** What keeps a line from sending, in a word; null: nothing. */
export function stopOf(line: Line): string | null {
  const state = lineState(line);
  return SENDING.has(state) ? null : statusName(state).toLowerCase();
}
const SENDING: ReadonlySet<string> = new Set([
  'active',
  'healthy',
  'degraded',
  // Fewer new conversations, but every answer.
  'watch',
  'at_risk',
  'critical',
]);

interface Undoable {
  /** Default: as soon as it can no longer be undone. */
  at?: Date | null;
  /** Called once it was taken back. */
  onTakenBack?: () => void;
}

/** Says that a message is sent by a line, or what it waits for, and offers to take it back. */
export function toastWithUndo(
  messageId: string,
  line: Line | undefined,
  { at = null, onTakenBack }: Undoable = {},
): void {
  const stop = line && stopOf(line);
  const undo = { undo: () => void takeBack(messageId, onTakenBack), undoMs: UNDO_MS };
  if (at) toast(t`The reply is planned`, undo);
  else if (line && stop) toast(t`The reply waits`, { description: `${lineName(line)}: ${stop}`, ...undo });
  else toast(t`The reply is on its way`, undo);
}

/** Cancels a message that was just written, unless it has left. */
async function takeBack(messageId: string, onTakenBack?: () => void): Promise<void> {
  try {
    await request('POST /api/messages/{id}/cancel', { params: { id: messageId } });
    forgetSending(messageId);
    onTakenBack?.();
    toast(t`The message was canceled`);
  } catch (error) {
    toastError(error);
  }
  await refreshReads(REFRESH);
}
