import { useLingui } from '@lingui/react/macro';
import { type Effect, EFFECTS } from '#console/lib/effects.ts';

export default function EffectName({ effect }: { effect: Effect }) {
  const { t } = useLingui();
  return t(EFFECTS[effect]);
}
