import { t } from '@lingui/core/macro';
import { refreshReads } from '#console/api/queries.ts';
import type { ReadEndpoint } from '#console/api/routes.ts';
import { currentSession } from '#console/api/session.ts';
import { toast, toastError } from '#console/components/toast.tsx';

interface BulkChange<R> {
  change: () => Promise<R>;
  undo: (id: string) => Promise<{ changed: number; skipped: readonly unknown[] }>;
  /** What was done, in words. */
  done: string;
  /** That it was undone, in words. */
  undone: (changed: number) => string;
  /** What was left out, and why; empty if nothing was. */
  describe: (result: R) => string;
  refresh: readonly ReadEndpoint[];
}

/** Changes several things at once, and offers to undo it if that can be undone. @returns whether they were changed. */
export async function changeMany<R extends { changed: number; undo: { id: string } | null }>({
  change,
  undo: undoChange,
  done,
  undone,
  describe,
  refresh,
}: BulkChange<R>): Promise<boolean> {
  const session = currentSession();
  const undoAll = async (id: string): Promise<void> => {
    try {
      const { changed, skipped } = await undoChange(id);
      const left = skipped.length;
      toast(undone(changed), left > 0 ? { description: t`Changed since, and left: ${left}` } : {});
    } catch (error) {
      toastError(error);
    }
    await refreshReads(refresh);
  };
  try {
    const result = await change();
    // What was done in one workspace must not be undone in another.
    if (currentSession() !== session) return true;
    const { changed, undo } = result;
    const description = describe(result);
    toast(`${done}: ${changed}`, {
      ...(description !== '' && { description }),
      ...(undo && { undo: () => void undoAll(undo.id) }),
    });
    return true;
  } catch (error) {
    toastError(error);
    return false;
  } finally {
    void refreshReads(refresh);
  }
}
