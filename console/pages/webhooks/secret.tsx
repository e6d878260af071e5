import { ShownOnce } from '#console/components/shown-once.tsx';

/** A signing secret, when it was created or rotated. */
export const Secret = ({ secret }: { secret: string }) => (
  <ShownOnce label="Signing secret" value={secret} use="Use it to verify the signature of each delivery." />
);
