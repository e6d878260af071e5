import { useLingui } from '@lingui/react/macro';
import { Dialog as Base } from '@base-ui/react/dialog';
import { X } from 'lucide-react';
import { type ReactNode, useRef } from 'react';
import { IconButton } from './button.tsx';
import { classes } from './class-names.ts';

interface Props {
  open: boolean;
  /** Called when the user closes it: with Escape, the button, or a click outside. */
  onClose: () => void;
  title: string;
  description?: ReactNode;
  children: ReactNode;
  /** Buttons at the end. */
  footer?: ReactNode;
}

const BACKDROP =
  'fixed inset-0 z-40 bg-black/30 transition-opacity duration-150 data-ending-style:opacity-0 data-starting-style:opacity-0';

function Overlay({ open, onClose, title, description, children, footer, popup }: Props & { popup: string }) {
  const { t } = useLingui();
  const element = useRef<HTMLDivElement>(null);
  // The first field, not the button that closes it.
  const initialFocus = (): HTMLElement | null =>
    element.current?.querySelector<HTMLElement>('input, select, textarea') ?? element.current;
  return (
    <Base.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Base.Portal>
        <Base.Backdrop className={BACKDROP} />
        <Base.Popup
          ref={element}
          initialFocus={initialFocus}
          className={classes(
            'fixed z-50 flex flex-col border-line bg-raised outline-none shadow-raised',
            popup,
          )}
        >
          <div className="flex shrink-0 items-start gap-3 border-b border-line px-5 py-4">
            <div className="min-w-0 flex-1">
              <Base.Title className="text-base font-semibold">{title}</Base.Title>
              {description && (
                <Base.Description className="mt-0.5 text-muted">{description}</Base.Description>
              )}
            </div>
            <Base.Close
              render={
                <IconButton label={t`Close`} className="-mt-1 -mr-2">
                  <X className="size-4" aria-hidden="true" />
                </IconButton>
              }
            />
          </div>
          <div className="min-h-0 flex-1 scroll-y px-5 py-4">{children}</div>
          {footer && (
            <div className="flex shrink-0 justify-end gap-2 border-t border-line px-5 py-3">{footer}</div>
          )}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

/** A modal question or a short form. */
export const Dialog = (props: Props) => (
  <Overlay
    {...props}
    popup="inset-x-4 top-[12vh] mx-auto max-h-[76vh] max-w-lg rounded-xl border transition duration-150 data-ending-style:scale-98 data-ending-style:opacity-0 data-starting-style:scale-98 data-starting-style:opacity-0"
  />
);

/** The details of an item, beside its list. */
export const Drawer = (props: Props) => (
  <Overlay
    {...props}
    popup="inset-y-0 right-0 w-full max-w-xl border-l transition duration-200 data-ending-style:translate-x-full data-starting-style:translate-x-full"
  />
);
