import { Trans, useLingui } from '@lingui/react/macro';
import { Menu as Base } from '@base-ui/react/menu';
import { Check } from 'lucide-react';
import { type KeyboardEvent, type ReactNode, type RefObject, useRef } from 'react';

/** Within this time, letters and spaces are one word that is searched. */
const TYPING_MS = 750;

export interface MenuItem {
  label: ReactNode;
  onSelect: () => void;
  icon?: ReactNode;
  /** For options: whether this one is selected. */
  checked?: boolean;
}

export interface MenuChoices {
  groups: readonly { title?: string; items: readonly MenuItem[] }[];
  side?: 'top' | 'bottom';
  /** What gets the focus when it closes. Default: the button. */
  focusAfter?: RefObject<HTMLElement | null>;
}

/** The actions of a `Menu`, loaded when it is first opened. */
export default function MenuPopup({
  triggerId,
  anchor,
  open,
  close,
  groups,
  side = 'bottom',
  focusAfter,
}: MenuChoices & {
  triggerId: string;
  /** The button. */
  anchor: HTMLElement;
  open: boolean;
  close: () => void;
}) {
  const { t } = useLingui();
  const typedAt = useRef(Number.NEGATIVE_INFINITY);
  // Also after letters that no item begins with, a space chooses nothing.
  const type = (event: KeyboardEvent): void => {
    if (event.key.length > 1) return;
    if (event.key === ' ' && event.timeStamp - typedAt.current < TYPING_MS) event.preventDefault();
    if (event.key !== ' ' || event.defaultPrevented) typedAt.current = event.timeStamp;
  };
  return (
    <Base.Root
      open={open}
      onOpenChange={(next, { reason }) => {
        if (next) return;
        close();
        // At once: `finalFocus` comes some frames later, and until then keys would go to the menu that is closing.
        if (reason === 'item-press' || reason === 'escape-key') (focusAfter?.current ?? anchor).focus();
      }}
    >
      <Base.Portal>
        {/* At the end of the body, outside of the page's landmarks: a landmark of its own. */}
        <Base.Positioner
          role="region"
          aria-label={t`Menu`}
          anchor={anchor}
          side={side}
          align="start"
          sideOffset={6}
          className="z-50"
        >
          <Base.Popup
            aria-labelledby={triggerId}
            onKeyDownCapture={type}
            finalFocus={focusAfter ?? (() => anchor)}
            className="max-h-[min(var(--available-height),30rem)] min-w-52 scroll-y rounded-xl border border-line bg-raised p-1 shadow-raised outline-none"
          >
            {groups.map(({ title, items }, index) => (
              <Base.Group
                key={title ?? index}
                className="border-line not-first:mt-1 not-first:border-t not-first:pt-1"
              >
                {title && (
                  <Base.GroupLabel className="px-2.5 py-1 text-xs text-muted">{title}</Base.GroupLabel>
                )}
                {items.map(({ label, onSelect, icon, checked }, position) => (
                  <Base.Item
                    key={position}
                    // What typed letters find: its text begins with the icon.
                    {...(typeof label === 'string' && { label })}
                    onClick={onSelect}
                    className="flex cursor-pointer items-center gap-2.5 rounded-lg px-2.5 py-1.5 outline-none data-highlighted:bg-hover"
                  >
                    {icon}
                    <span className="min-w-0 flex-1 truncate">{label}</span>
                    {checked && (
                      <>
                        <Check className="size-4" aria-hidden="true" />
                        <span className="sr-only">
                          <Trans>, selected</Trans>
                        </span>
                      </>
                    )}
                  </Base.Item>
                ))}
              </Base.Group>
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
