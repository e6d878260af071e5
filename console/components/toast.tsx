import { t } from '@lingui/core/macro';
import { Toast } from '@base-ui/react/toast';
import { X } from 'lucide-react';
import { onSessionChange } from '#console/api/session.ts';

const manager = Toast.createToastManager();
// What was done in one workspace must not be undone in another.
onSessionChange(() => manager.close());

/** What `undoLast` does. */
let last: { id: string; undo: () => void } | null = null;

/** Undoes what the last notification offers to undo. */
export function undoLast(): void {
  if (!last) return;
  const { id, undo } = last;
  last = null;
  manager.close(id);
  undo();
}

/** Shows a notification. With `undo`, it offers for `undoMs` to undo the action, so that no confirmation is necessary. */
export function toast(
  title: string,
  { description, undo, undoMs = 8000 }: { description?: string; undo?: () => void; undoMs?: number } = {},
) {
  const id: string = manager.add({
    title,
    description,
    timeout: undo ? undoMs : 5000,
    onClose: () => {
      if (last?.id === id) last = null;
    },
    ...(undo && {
      actionProps: {
        children: t`Undo`,
        onClick: () => {
          manager.close(id);
          undo();
        },
      },
    }),
  });
  if (undo) last = { id, undo };
}

/** Shows an error. */
export const toastError = (error: unknown): void => {
  manager.add({
    title: t`That did not work`,
    description: error instanceof Error ? error.message : t`Something went wrong.`,
    priority: 'high',
    timeout: 8000,
  });
};

export const Toaster = () => (
  <Toast.Provider toastManager={manager} limit={2}>
    <Toast.Portal>
      {/*
        Placed so that it covers no button: at the top of narrow screens, between the buttons in the corners; in the sidebar of
        wide ones, below its pages.
      */}
      <Toast.Viewport
        aria-label={t`Notifications`}
        className="fixed inset-x-14 top-2 z-60 mx-auto flex max-w-80 flex-col gap-2 md:inset-x-auto md:top-auto md:bottom-14 md:left-2 md:w-56"
      >
        <ToastList />
      </Toast.Viewport>
    </Toast.Portal>
  </Toast.Provider>
);

function ToastList() {
  const { toasts } = Toast.useToastManager();
  return toasts.map((shown) => (
    <Toast.Root
      key={shown.id}
      toast={shown}
      className="rounded-xl border border-line bg-raised p-3 shadow-raised transition duration-200 data-ending-style:translate-y-2 data-ending-style:opacity-0 data-starting-style:translate-y-2 data-starting-style:opacity-0"
    >
      <Toast.Content className="relative flex flex-wrap items-start justify-end gap-x-3 gap-y-1">
        <div className="min-w-0 flex-1 basis-40 pr-6 wrap-anywhere">
          <Toast.Title className="font-medium" />
          <Toast.Description className="mt-0.5 text-muted" />
        </div>
        <Toast.Action className="mr-6 rounded-md px-2 py-0.5 font-medium text-accent-ink hover:bg-hover" />
        <Toast.Close
          aria-label={t`Dismiss`}
          // Otherwise only while the pointer is over the notifications, as if they were stacked.
          aria-hidden={false}
          className="absolute top-0 right-0 rounded-md p-0.5 text-muted hover:bg-hover hover:text-ink"
        >
          <X className="size-4" aria-hidden="true" />
        </Toast.Close>
      </Toast.Content>
    </Toast.Root>
  ));
}
