import { useRead } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';

type LimitName = ResponseOf<'GET /api/workspace/limits'>['limits'][number]['limit'];

/** The share of a limit from which on it is worth a word. */
const NEAR = 0.8;

/** Tells that a workspace has nearly as many of something as it may have. */
export function NearLimit({ limit }: { limit: LimitName }) {
  const { data } = useRead('GET /api/workspace/limits', {});
  const found = data?.limits.find((one) => one.limit === limit);
  if (!found || found.used < found.max * NEAR) return null;
  return (
    <p role="status" className="rounded-lg bg-warn-soft px-3 py-2 text-sm text-warn">
      {found.used.toLocaleString()} of at most {found.max.toLocaleString()} {found.text}.
    </p>
  );
}
