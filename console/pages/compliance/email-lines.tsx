import { useLingui } from '@lingui/react/macro';
import { Link } from '@tanstack/react-router';
import { useRead } from '#console/api/queries.ts';
import { Badge } from '#console/components/badge.tsx';
import { Card } from '#console/components/page.tsx';
import { Skeleton } from '#console/components/states.tsx';
import { type Line, lineAddress, lineName } from '#console/lib/line.ts';
import { RESULTS } from '#console/pages/lines/email-authentication.tsx';

/** What receivers authenticate the emails of each line by. Shows nothing without lines for email. */
export default function EmailLines() {
  const { t } = useLingui();
  const lines = useRead('GET /api/lines/by-user', {}).data?.lines ?? [];
  const forEmail = lines.filter(
    ({ requestedChannelType, provisioningStatus }) =>
      requestedChannelType === 'email' && provisioningStatus === 'active',
  );
  if (forEmail.length === 0) return null;
  return (
    <Card title={t`Email authentication`}>
      <ul className="divide-y divide-line">
        {forEmail.map((line) => (
          <li key={line._id} className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-2.5">
            <Link
              to="/lines"
              search={{ line: line._id } as never}
              className="min-w-0 flex-1 basis-52 truncate font-medium hover:underline"
            >
              {lineName(line)} <span className="font-normal text-muted">{lineAddress(line)}</span>
            </Link>
            <Checks line={line} />
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Checks({ line }: { line: Line }) {
  const { t } = useLingui();
  const { data, error } = useRead('GET /api/lines/{id}/email-authentication', { params: { id: line._id } });
  if (error && !data) return <span className="text-muted">{error.message}</span>;
  if (!data) return <Skeleton className="h-5.5 w-56" />;
  return (
    <span className="flex flex-wrap gap-1.5">
      {data.checks.map(({ name, result }) => (
        <Badge key={name} tone={RESULTS[result].tone}>
          {name.toUpperCase()} {t(RESULTS[result].text).toLowerCase()}
        </Badge>
      ))}
    </span>
  );
}
