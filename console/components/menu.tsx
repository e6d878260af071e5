import {
  cloneElement,
  type ComponentProps,
  type KeyboardEvent,
  lazy,
  type MouseEvent,
  type ReactElement,
  Suspense,
  useId,
  useState,
} from 'react';
import type { MenuChoices } from './menu-popup.tsx';

interface MenuProps extends MenuChoices {
  /** A button. */
  trigger: ReactElement;
}

/** Loads what a menu shows, before somebody opens it by a key. */
export const loadMenu = () => import('./menu-popup.tsx');
const MenuPopup = lazy(loadMenu);

/** A button that opens a menu of grouped actions. */
export function Menu({ trigger, ...menu }: MenuProps) {
  const triggerId = useId();
  /** The button, once the menu was opened. */
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  const [open, setOpen] = useState(false);
  const button = cloneElement(trigger as ReactElement<ComponentProps<'button'>>, {
    id: triggerId,
    'aria-haspopup': 'menu',
    'aria-expanded': open,
    // Loaded before the first click, so that it opens at once.
    onPointerEnter: () => void loadMenu(),
    onFocus: () => void loadMenu(),
    onClick: ({ currentTarget }: MouseEvent<HTMLElement>) => {
      // Also when a key of the page opens it: the next keys are for the menu.
      currentTarget.focus();
      setAnchor(currentTarget);
      setOpen(true);
    },
    onKeyDown: (event: KeyboardEvent<HTMLElement>) => {
      if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
      event.preventDefault();
      event.currentTarget.click();
    },
  });
  return (
    <>
      {button}
      <Suspense fallback={null}>
        {anchor && (
          <MenuPopup
            {...menu}
            triggerId={triggerId}
            anchor={anchor}
            open={open}
            close={() => setOpen(false)}
          />
        )}
      </Suspense>
    </>
  );
}
