import { msg, t } from '@lingui/core/macro';
import { useMemo } from 'react';
import type { RequestTo, ResponseOf } from '#console/api/routes.ts';
import type { Search } from '#console/lib/search.ts';

export type Request = ResponseOf<'GET /api/requests'>['requests'][number];
type Query = NonNullable<RequestTo<'GET /api/requests'>['query']>;

const HOUR_MS = 3_600_000;

/** The filters of the page, kept in its address. */
export const NO_FILTERS = {
  status: '',
  method: '',
  period: '',
  path: '',
  code: '',
  actorType: '',
  actorId: '',
};

const ACTORS = ['key', 'user'] as const;
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

export const FILTERS = [
  {
    name: 'status',
    label: msg`Status`,
    options: [
      { value: '', label: msg`All` },
      { value: '2xx', label: msg`Succeeded (2xx)` },
      { value: '4xx', label: msg`Refused (4xx)` },
      { value: '5xx', label: msg`Failed (5xx)` },
    ],
  },
  {
    name: 'method',
    label: msg`Method`,
    options: [{ value: '', label: msg`All` }, ...METHODS.map((value) => ({ value, label: value }))],
  },
  {
    name: 'period',
    label: msg`Time`,
    options: [
      { value: '', label: msg`Last 30 days` },
      { value: '1', label: msg`Last hour` },
      { value: '24', label: msg`Last 24 hours` },
      { value: '168', label: msg`Last 7 days` },
    ],
  },
];

/** The filters as the API takes them. */
export function useQueryOf({ status, method, period, path, code, actorType, actorId }: Search): Query {
  // Stays the same for as long as the filter does, so that pages belong to one query.
  const since = useMemo(
    () => (period ? new Date(Date.now() - Number(period) * HOUR_MS).toISOString() : undefined),
    [period],
  );
  return {
    status: status || undefined,
    method: METHODS.find((known) => known === method),
    path: path || undefined,
    code: code || undefined,
    actorType: ACTORS.find((known) => known === actorType),
    actorId: actorId || undefined,
    since,
  };
}

export const toneOf = (status: number): 'good' | 'warn' | 'bad' =>
  status >= 500 ? 'bad' : status >= 400 ? 'warn' : 'good';

export const callerName = ({ actor: { name, id } }: Request): string => name ?? id ?? t`Unknown`;
