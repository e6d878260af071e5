import { type RefObject, useLayoutEffect } from 'react';

/** When an element that has the focus goes, as what is decided does, the focus passes to the nearest area around it in place of the whole page. */
export function usePassFocus(element: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const own = element.current;
    const around = own?.parentElement?.closest<HTMLElement>('[tabindex]');
    return () => {
      if (own?.contains(document.activeElement)) around?.focus();
    };
  }, [element]);
}
