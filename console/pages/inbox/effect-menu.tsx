import { useLingui } from '@lingui/react/macro';
import { PartyPopper } from 'lucide-react';
import type { RefObject } from 'react';
import { IconButton } from '#console/components/button.tsx';
import { Menu } from '#console/components/menu.tsx';
import { BUBBLE_EFFECTS, type Effect, EFFECTS, SCREEN_EFFECTS } from '#console/lib/effects.ts';

/** Chooses the effect of a reply. The chosen one again is none. */
export default function EffectMenu({
  effect,
  choose,
  box,
}: {
  effect: Effect | undefined;
  choose: (effect: Effect | undefined) => void;
  /** Of the reply, which is gone on with. */
  box: RefObject<HTMLTextAreaElement | null>;
}) {
  const { t } = useLingui();
  const itemsOf = (effects: readonly Effect[]) =>
    effects.map((one) => ({
      label: t(EFFECTS[one]),
      checked: one === effect,
      onSelect: () => choose(one === effect ? undefined : one),
    }));
  return (
    <Menu
      side="top"
      focusAfter={box}
      trigger={
        <IconButton label={t`Send with an effect`}>
          <PartyPopper className="size-4" aria-hidden="true" />
        </IconButton>
      }
      groups={[
        { title: t`Effects of the bubble`, items: itemsOf(BUBBLE_EFFECTS) },
        { title: t`Effects of the screen`, items: itemsOf(SCREEN_EFFECTS) },
      ]}
    />
  );
}
