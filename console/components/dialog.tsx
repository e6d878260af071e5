import { Trans, useLingui } from '@lingui/react/macro';
import { Dialog as Base } from '@base-ui/react/dialog';
import { X } from 'lucide-react';
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { Button, IconButton } from './button.tsx';
import { classes } from './class-names.ts';

interface Props {
  open: boolean;
  /** Called when the user closes it: with Escape, the button, or a click outside, and discards what the forms in it have not saved. */
  onClose: () => void;
  /**
   * Whether closing it loses something. Default: whether somebody has changed a form in it since it was last saved, without those
   * that are kept (`KeptForm`).
   */
  unsaved?: boolean;
  title: string;
  description?: ReactNode;
  children: ReactNode;
  /** Buttons at the end. */
  footer?: ReactNode;
}

const BACKDROP =
  'fixed inset-0 z-40 bg-black/30 transition-opacity duration-150 data-ending-style:opacity-0 data-starting-style:opacity-0';

const FORM = 'form:not([data-kept])';

function Overlay({
  open,
  onClose,
  unsaved,
  title,
  description,
  children,
  footer,
  popup,
}: Props & { popup: string }) {
  const { t } = useLingui();
  const element = useRef<HTMLDivElement>(null);
  const [asks, setAsks] = useState(false);
  const forms = useRef<'as saved' | 'changed' | 'submitted'>('as saved');
  useEffect(() => {
    forms.current = 'as saved';
  }, [open]);
  // Dialogs above this one report their events here, too.
  const note = ({ target }: FormEvent, next: 'changed' | 'submitted'): void => {
    if (target instanceof Element && element.current?.contains(target) && target.closest(FORM))
      forms.current = next;
  };
  const losesSomething = (): boolean =>
    unsaved ??
    (forms.current === 'changed' ||
      // A form that was refused is not saved.
      (forms.current === 'submitted' &&
        element.current?.querySelector(`${FORM} :is([role=alert], [aria-invalid=true])`) !== null));
  // The first field, not the button that closes it.
  const initialFocus = (): HTMLElement | null =>
    element.current?.querySelector<HTMLElement>('input, select, textarea') ?? element.current;
  return (
    <Base.Root
      open={open}
      onOpenChange={(next) => {
        if (!next && losesSomething()) setAsks(true);
        else if (!next) onClose();
      }}
    >
      <Base.Portal>
        <Base.Backdrop className={BACKDROP} />
        <Base.Popup
          ref={element}
          initialFocus={initialFocus}
          onInput={(event) => note(event, 'changed')}
          onSubmit={(event) => note(event, 'submitted')}
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
          {asks && (
            <Dialog
              open
              onClose={() => setAsks(false)}
              title={t`Discard what you have entered?`}
              footer={
                <>
                  <Button onClick={() => setAsks(false)}>
                    <Trans>Keep editing</Trans>
                  </Button>
                  <Button
                    kind="danger"
                    onClick={() => {
                      setAsks(false);
                      onClose();
                    }}
                  >
                    <Trans>Discard</Trans>
                  </Button>
                </>
              }
            >
              <p>
                <Trans>It has not been saved.</Trans>
              </p>
            </Dialog>
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
