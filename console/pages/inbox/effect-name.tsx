import { useLingui } from '@lingui/react/macro';
import { EFFECTS } from './effects.ts';
import type { Effect } from './reply-options.ts';

export default function EffectName({ effect }: { effect: Effect }) {
  const { t } = useLingui();
  return t(EFFECTS[effect]);
}
